import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join, relative } from 'node:path'

/** An image as a folder, and how its container starts. */
export type Image = {
  readonly root: string
  readonly env: Readonly<Record<string, string>>
  readonly workdir: string
  /** Name of the user; root if the Dockerfile names none. */
  readonly user: string
  readonly command: readonly string[]
  readonly healthcheck: readonly string[]
  readonly stopSignal: NodeJS.Signals
}

type Stage = {
  readonly name: string
  readonly root: string
  env: Record<string, string>
  workdir: string
  user: string
  entrypoint: readonly string[]
  cmd: readonly string[]
  healthcheck: readonly string[]
  stopSignal: string
}

const PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'

/**
 * Builds an image without an engine: carries out the instructions of a Dockerfile in folders, by chroot. It knows the
 * instructions that docs/deploy/Dockerfile uses, and refuses others. There are no layers and no namespaces, so RUN and
 * the container see the network and the processes of this machine. Needs root.
 *
 * @param file The Dockerfile. What is in FILE.dockerignore stays out of the context.
 * @param context Folder of COPY.
 * @param makeBase Makes the folder of a base image.
 * @param buildEnv Environment of RUN, in addition to ENV.
 */
export function buildImage(options: {
  readonly file: string
  readonly context: string
  readonly makeBase: (image: string) => string
  readonly buildEnv: Readonly<Record<string, string>>
}): Image {
  const { file, context, makeBase, buildEnv } = options
  const isIgnored = readIgnored(`${file}.dockerignore`)
  const stages: Stage[] = []
  const current = (): Stage => {
    const stage = stages.at(-1)
    if (!stage) throw new Error('Expected FROM first')
    return stage
  }

  const instructions: Record<string, (text: string) => void> = {
    FROM(text) {
      const [, image = '', name = ''] = /^(\S+)(?: AS (\S+))?$/i.exec(text) ?? []
      stages.push({
        name,
        root: makeBase(image),
        env: {},
        workdir: '/',
        user: 'root',
        entrypoint: [],
        cmd: [],
        healthcheck: [],
        stopSignal: 'SIGTERM',
      })
    },
    WORKDIR(text) {
      const stage = current()
      stage.workdir = text
      mkdirSync(join(stage.root, text), { recursive: true })
    },
    ENV(text) {
      for (const [, name = '', value = ''] of text.matchAll(/(\w+)=(\S+)/g))
        current().env[name] = value
    },
    COPY(text) {
      const words = text.split(/\s+/)
      const [, from] = /^--from=(\S+)$/.exec(words[0] ?? '') ?? []
      if (from) words.shift()
      const source = from ? stages.find(({ name }) => name === from)?.root : context
      const target = words.pop() ?? ''
      if (source === undefined || words.some((word) => word.startsWith('--')))
        throw new Error(`COPY ${text}`)
      for (const word of words) copy(join(source, word), target, from ? () => false : isIgnored)
    },
    RUN(text) {
      const { root, workdir, env, user } = current()
      const args = ['-c', `cd ${workdir} && ${text}`]
      const run = spawnSync(
        'unshare',
        enter({ root, user, env: { HOME: '/root', ...buildEnv, ...env } }, ['/bin/sh', ...args]),
        { encoding: 'utf8', maxBuffer: 2 ** 28 },
      )
      if (run.status !== 0)
        throw new Error(`RUN ${text}\n${run.stdout.slice(-5_000)}\n${run.stderr.slice(-5_000)}`)
    },
    USER(text) {
      current().user = text
    },
    HEALTHCHECK(text) {
      current().healthcheck = readExec(text.replace(/^(--\S+\s+)*CMD\s+/, ''))
    },
    ENTRYPOINT(text) {
      current().entrypoint = readExec(text)
    },
    CMD(text) {
      current().cmd = readExec(text)
    },
    STOPSIGNAL(text) {
      current().stopSignal = text
    },
    // Only for the engine.
    VOLUME() {},
    EXPOSE() {},
  }

  function copy(from: string, target: string, isLeftOut: (path: string) => boolean): void {
    const { root, workdir } = current()
    const folder = join(root, target.startsWith('/') ? target : join(workdir, target))
    const isFile = statSync(from).isFile()
    const to = isFile && /(^|\/)\.?$/.test(target) ? join(folder, basename(from)) : folder
    cpSync(from, to, {
      recursive: true,
      verbatimSymlinks: true,
      filter: (path) => !isLeftOut(relative(context, path)),
    })
  }

  for (const [name, text] of readInstructions(readFileSync(file, 'utf8'))) {
    const instruction = instructions[name]
    if (!instruction) throw new Error(`${name} is not known here`)
    instruction(text)
  }
  const { root, env, workdir, user, entrypoint, cmd, healthcheck, stopSignal } = current()
  return {
    root,
    env,
    workdir,
    user,
    command: [...entrypoint, ...cmd],
    healthcheck,
    stopSignal: stopSignal as NodeJS.Signals,
  }
}

/** In a mount namespace of its own, where /proc is this machine's. */
const CHROOT = 'mount -t proc proc "$0/proc" && exec chroot "$@"'

/** Arguments of `unshare` for a command in an image. The process that it starts becomes the command. */
export function enter(
  image: Pick<Image, 'root' | 'user' | 'env'> & { readonly workdir?: string },
  command: readonly string[],
): string[] {
  const { root, user, env, workdir = '/' } = image
  const variables = Object.entries({ PATH, ...env }).map(([name, value]) => `${name}=${value}`)
  const names = user === 'root' ? [] : [`--userspec=${user}:${user}`]
  const entered = [...names, root, '/usr/bin/env', '-i', `--chdir=${workdir}`, ...variables]
  return ['--mount', 'sh', '-c', CHROOT, root, ...entered, ...command]
}

/** Names and texts of the instructions: comments removed, lines joined. */
function readInstructions(text: string): [string, string][] {
  return text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .filter((line) => line.trim())
    .map((line) => {
      const [, name = '', rest = ''] = /^(\w+)\s+(.*)$/.exec(line.trim()) ?? []
      return [name.toUpperCase(), rest]
    })
}

/** The exec form, a list of JSON. The shell form is refused: its process would not get the signal. */
function readExec(text: string): string[] {
  const list: unknown = JSON.parse(text)
  if (!Array.isArray(list)) throw new Error(`Expected the exec form, received ${text}`)
  return list
}

/** Patterns of names: `dist`, and with any folder before them `**` + `/*.db`. */
function readIgnored(file: string): (path: string) => boolean {
  const lines = existsSync(file) ? readFileSync(file, 'utf8').split('\n') : []
  const patterns = lines
    .filter((line) => line.trim() && !line.startsWith('#'))
    .map((line) => {
      const escaped = line
        .trim()
        .replace(/^\*\*\//, '')
        .replaceAll('.', '\\.')
        .replaceAll('*', '[^/]*')
      return new RegExp(`${line.startsWith('**/') ? '(^|/)' : '^'}${escaped}($|/)`)
    })
  return (path) => patterns.some((pattern) => pattern.test(path))
}
