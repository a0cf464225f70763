/** The dead letters of the chosen destination: what is shown, filtered, selected and done with them. */
import { counted } from '../operator/numbers.ts'
import type { Answered, Refused } from '../operator/requests.ts'
import {
  type Destination,
  discardLetters,
  type Filter,
  type LetterPage,
  loadLetters,
  mendLetters,
  type Preview,
  previewPatch,
  replayLetters,
  type Which,
} from './data.ts'
import type { Patch } from './patch.ts'

/** Runs a request. @returns Whether it succeeded. */
export type Run = (
  act: (customer: string) => Promise<{ readonly ok: true } | Refused>,
  done?: string,
) => Promise<boolean>

/** Reads beside what the operator does. @returns undefined if that failed. */
export type Read = <T>(load: (customer: string) => Promise<Answered<T>>) => Promise<T | undefined>

/** What an operator is about to do with letters. */
export type Task = '' | 'mend' | 'discard'

export type LettersView = {
  /** Id of the destination; '' for none. */
  readonly destination: string
  /** Undefined while it is loaded. */
  readonly page: LetterPage | undefined
  /** Of the page before, while one is loaded. */
  readonly groups: LetterPage['groups']
  readonly filter: Filter
  /** Positions. Empty: all of the filter are meant. */
  readonly selected: ReadonlySet<number>
  readonly isFirst: boolean
  readonly task: Task
  readonly preview: readonly Preview[] | undefined
  /** What an action changes: `3 letters`. */
  readonly what: string
}

export type LetterState = ReturnType<typeof createLetters>

export function createLetters({
  run,
  read,
  draw,
  onChange,
}: {
  readonly run: Run
  readonly read: Read
  readonly draw: () => void
  /** Called after letters were changed. */
  readonly onChange: () => void
}) {
  let destination = ''
  let page: LetterPage | undefined
  let groups: LetterPage['groups'] = []
  let filter: Filter = {}
  let after: number | undefined
  let selected: ReadonlySet<number> = new Set()
  let task: Task = ''
  let preview: readonly Preview[] | undefined
  /** Number of letters of the destination when they were loaded. */
  let known = -1

  const which = (): Which => (selected.size > 0 ? { seqs: [...selected] } : filter)
  const count = () => selected.size || (page?.count ?? 0)

  function reset() {
    page = undefined
    after = undefined
    begin('')
    selected = new Set()
  }

  function begin(now: Task) {
    task = now
    preview = undefined
  }

  function open(id: string) {
    if (id === destination) return
    reset()
    groups = []
    filter = {}
    known = -1
    destination = id
    load()
  }

  function close() {
    reset()
    destination = ''
  }

  /** Loads the page again. Keeps the selection of letters that are still shown. */
  async function load() {
    const [id, asked, from] = [destination, filter, after]
    const loaded = await read((customer) => loadLetters(customer, id, asked, from))
    if (!loaded || id !== destination || asked !== filter || from !== after) return
    page = loaded
    groups = page.groups
    const seqs = new Set(page.letters.map(({ seq }) => seq))
    selected = new Set([...selected].filter((seq) => seqs.has(seq)))
    draw()
  }

  /** Loads the page again if the number of letters has changed, unless the operator is doing something with it. */
  function follow(destinations: readonly Destination[]) {
    if (!destination) return
    const one = destinations.find(({ id }) => id === destination)
    if (!one) return close()
    const isStale = known !== one.letters || page?.letters.some(({ isReplayed }) => isReplayed)
    if (!isStale || task || selected.size > 0) return
    known = one.letters
    load()
  }

  function show(next: { readonly filter?: Filter; readonly after?: number | undefined }) {
    reset()
    filter = next.filter ?? filter
    after = next.after
    load()
    draw()
  }

  /** Runs an action on the letters that are meant, and shows what is left. */
  async function change(
    act: (customer: string, which: Which) => Promise<Answered<{ readonly count: number }>>,
    tell: (what: string) => string,
  ) {
    const meant = which()
    const what = counted(count(), 'letter')
    if (!(await run((customer) => act(customer, meant), tell(what)))) return
    begin('')
    selected = new Set()
    known = -1
    onChange()
    draw()
  }

  return {
    get view(): LettersView {
      return {
        destination,
        page,
        groups,
        filter,
        selected,
        isFirst: after === undefined,
        task,
        preview,
        what: selected.size > 0 ? counted(count(), 'selected letter') : counted(count(), 'letter'),
      }
    },
    open,
    close,
    follow,
    setFilter: (next: Filter) => show({ filter: next }),
    toFirst: () => show({ after: undefined }),
    toNext: (next: number) => show({ after: next }),
    select(seqs: ReadonlySet<number>) {
      selected = seqs
      preview = undefined
      draw()
    },
    begin(now: Task) {
      begin(now)
      draw()
    },
    forgetPreview() {
      if (!preview) return
      preview = undefined
      draw()
    },
    async preview(patch: Patch) {
      const meant = which()
      const id = destination
      await run(async (customer) => {
        const answer = await previewPatch(customer, id, meant, patch)
        if (answer.ok && task === 'mend') preview = answer.body.data
        return answer
      })
    },
    mend: (patch: Patch, isReplayed: boolean) =>
      change(
        async (customer, meant) => {
          const mended = await mendLetters(customer, destination, meant, patch)
          return mended.ok && isReplayed ? replayLetters(customer, destination, meant) : mended
        },
        (what) => `${what} mended${isReplayed ? ', and sent again' : ''}.`,
      ),
    replay: () =>
      change(
        (customer, meant) => replayLetters(customer, destination, meant),
        (what) => `${what} will be sent again.`,
      ),
    discard: () =>
      change(
        (customer, meant) => discardLetters(customer, destination, meant),
        (what) => `${what} discarded.`,
      ),
  }
}
