import { parseArgs } from 'node:util'
import { runCustomer } from './customerCommand.ts'
import { runGateway } from './main.ts'
import { readSettings } from './settings.ts'
import { version } from './version.ts'

/** Exit codes as sysexits.h has them. */
const EX_USAGE = 64
const EX_CONFIG = 78

const HELP = `shoptrail ${version}

  shoptrail start [--demo]                    start the gateway
  shoptrail customer add --origin ORIGIN …    add a customer; prints its keys, the secret one once
  shoptrail customer list                     list the customers
  shoptrail customer set ID …                 change a customer
  shoptrail customer rotate ID --key KEY      make a new key; the old one ends at once
  shoptrail customer remove ID                remove a customer; its events stay

  --origin ORIGIN   an origin whose pages may send events, https://shop.example; several are
                    several --origin; "loopback" is every origin of the machine itself
  --name NAME       what people call the customer
  --config JSON     public configuration of the script, such as '{"ga4":true}'
  --id ID           an id of your own for the new customer
  --key KEY         rest (the secret one) or tracking (the one in the pages)
  --demo            with the demo customer and the demo shop

Settings are environment variables:
  PORT 8787   HOST 127.0.0.1   DATA_DIR ./data   PUBLIC_URL   TRUSTED_PROXIES   DEMO off   LOG_LEVEL info
`

/** The command line. Answers the exit code. */
async function run(args: readonly string[]): Promise<number> {
  let given: ReturnType<typeof parse>
  try {
    given = parse(args)
  } catch (error) {
    return fail(EX_USAGE, (error as Error).message)
  }
  const { values, positionals } = given
  if (values.version) {
    console.log(version)
    return 0
  }
  if (values.help || positionals.length === 0) {
    console.log(HELP)
    return values.help ? 0 : EX_USAGE
  }
  const read = readSettings(values.demo ? { ...process.env, DEMO: 'on' } : process.env)
  if (!read.ok) return fail(EX_CONFIG, read.message)
  const [command, ...rest] = positionals
  if (command === 'start' && rest.length === 0) return runGateway(read.settings)
  if (command !== 'customer') return fail(EX_USAGE, `There is no command ${positionals.join(' ')}`)
  const done = runCustomer(rest, values, read.settings.dataDir)
  if (!done.ok) return fail(done.isUsage ? EX_USAGE : 1, done.message)
  console.log(done.text)
  return 0
}

const parse = (args: readonly string[]) =>
  parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      origin: { type: 'string', multiple: true },
      name: { type: 'string' },
      config: { type: 'string' },
      id: { type: 'string' },
      key: { type: 'string' },
      demo: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
      version: { type: 'boolean', short: 'v' },
    },
  })

function fail(code: number, message: string): number {
  console.error(message)
  if (code === EX_USAGE) console.error('What can be said: shoptrail --help')
  return code
}

process.exitCode = await run(process.argv.slice(2))
