/**
 * The people page: what the gateway keeps of one person, as a file, and its erasure. The person stays in this page's
 * memory, and is forgotten with the customer.
 */
import { render, type TargetedEvent } from 'preact'
import { Frame } from '../operator/frame.tsx'
import { counted } from '../operator/numbers.ts'
import { type Customer, createOperator } from '../operator/operator.ts'
import { describeRefusal, endOf, type Refused } from '../operator/requests.ts'
import {
  erasePerson,
  findPerson,
  type Kept,
  loadFile,
  loadProofs,
  type Person,
  type Proof,
  personOf,
} from './data.ts'
import { Found, type Work } from './found.tsx'
import { Proofs } from './proofs.tsx'

const root = document.querySelector('#page') as HTMLElement
const operator = createOperator({ title: 'people', draw, onWatch: watch, onLeave: leave })

/** The newest search and its result. */
type Search = {
  /** As the operator typed it, without white space at its ends. */
  readonly text: string
  readonly person: Person
  /** Undefined if nothing is kept. */
  readonly kept: Kept | undefined
}

let watched: Customer | undefined
let search: Search | undefined
let proofs: readonly Proof[] | undefined
/** The request that is running. */
let work: Work = ''
let trouble = ''
let notice = ''
/** Number of the customer's visit: answers for earlier ones are dropped. */
let visit = 0
/** Key of the form: a new one empties its field. */
let form = 0

draw()
operator.start()

function watch(customer: Customer) {
  forget()
  watched = customer
  operator.setState('')
  readProofs(customer)
}

function leave() {
  forget()
  watched = undefined
}

function forget() {
  visit++
  form++
  search = undefined
  proofs = undefined
  work = ''
  trouble = ''
  notice = ''
}

async function readProofs({ customerId }: Customer) {
  const mine = visit
  const answer = await loadProofs(customerId)
  if (mine !== visit) return
  if (answer.ok) proofs = answer.body.data
  else fail(answer)
  draw()
}

/** Runs one request for the watched customer, and drops its answer if the customer has changed meanwhile. */
async function run(
  now: Work,
  act: (customerId: string) => Promise<{ readonly ok: true } | Refused>,
): Promise<void> {
  if (!watched || work) return
  const mine = visit
  work = now
  trouble = ''
  notice = ''
  draw()
  const answer = await act(watched.customerId)
  if (mine !== visit) return
  work = ''
  if (!answer.ok) fail(answer)
  draw()
}

function fail(answer: Refused) {
  const reason = endOf(answer.status)
  if (reason && watched) return void operator.showEnd(watched, reason)
  trouble =
    answer.status === 0
      ? 'The gateway does not answer, or broke off. Try again.'
      : describeRefusal(answer)
}

const find = (text: string) =>
  run('find', async (customerId) => {
    const person = personOf(text)
    search = undefined
    const answer = await findPerson(customerId, person)
    if (!answer.ok && answer.status !== 404) return answer
    search = { text, person, kept: answer.ok ? answer.body : undefined }
    return { ok: true }
  })

const download = ({ person }: Search) =>
  run('download', async (customerId) => {
    const answer = await loadFile(customerId, person)
    if (answer.ok) save(answer.body)
    return answer
  })

const erase = ({ person }: Search) =>
  run('erase', async (customerId) => {
    const answer = await erasePerson(customerId, person)
    if (!answer.ok) return answer
    const { events, devices, proof } = answer.body
    notice = `Removed ${counted(events, 'event')} of ${counted(devices, 'device')}. This is kept as proof ${proof}, without the person.`
    proofs = [answer.body, ...(proofs ?? [])]
    search = undefined
    form++
    return answer
  })

function save(file: Blob) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(file)
  link.download = 'person.json'
  link.click()
  // After the browser has begun to read it.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000)
}

function submit(event: TargetedEvent<HTMLFormElement>) {
  event.preventDefault()
  const text = String(new FormData(event.currentTarget).get('person')).trim()
  if (text) find(text)
}

function draw() {
  render(<Page />, root)
}

function Page() {
  return (
    <Frame page="people" operator={operator} skip={{ id: 'view', text: 'To the search' }}>
      <main id="view" class="sheet" hidden={!operator.view.isViewShown}>
        <div class="head">
          <h2>A person’s data</h2>
          <p class="hint">What is kept of one visitor: to hand over, or to erase.</p>
        </div>
        <p class="notice" role="status" hidden={!notice} data-test="notice">
          {notice}
        </p>
        <form key={form} class="card ask" onSubmit={submit} data-test="ask">
          <label for="person">E-mail address or device id</label>
          <div class="row">
            <input
              id="person"
              name="person"
              required
              maxLength={254}
              autocomplete="off"
              autocapitalize="off"
              spellcheck={false}
              data-test="person"
            />
            <button type="submit" class="primary" disabled={work !== ''} data-test="find">
              {work === 'find' ? 'Searching…' : 'Search'}
            </button>
          </div>
          <p class="hint">
            An address finds the events of every device that gave it, its orders and subscriptions,
            and every other event that contains it. Case does not matter. A device id finds the
            events of this device.
          </p>
        </form>
        <p class="trouble" role="alert" hidden={!trouble} data-test="trouble">
          {trouble}
        </p>
        <div role="status">
          {search && !search.kept && (
            <p class="card nothing" data-test="nothing">
              Nothing is kept of {'did' in search.person ? 'the device id ' : ''}
              <b>{search.text}</b>.
            </p>
          )}
        </div>
        {search?.kept && <FoundPerson key={search.text} {...search} kept={search.kept} />}
        {proofs && <Proofs proofs={proofs} />}
      </main>
    </Frame>
  )
}

function FoundPerson(found: Search & { readonly kept: Kept }) {
  return (
    <Found
      text={found.text}
      kept={found.kept}
      work={work}
      onDownload={() => download(found)}
      onErase={() => erase(found)}
    />
  )
}
