/** The list of campaigns, in pages of twenty. Search, channel and page number are part of the address. */
import type { ComponentChildren } from 'preact'
import { counted, number } from '../operator/numbers.ts'
import type { Customer } from '../operator/operator.ts'
import { describeRefusal } from '../operator/requests.ts'
import { Sign } from '../operator/signs.tsx'
import { createVisibleTimer } from '../operator/visibleTimer.ts'
import { Channel } from './channel.tsx'
import { loadList } from './data.ts'
import {
  type CampaignHead,
  isType,
  LIST,
  type ListPlace,
  MAX_SEARCH,
  PAGE_SIZE,
  showMoment,
  TYPES,
} from './model.ts'
import type { CampaignsPage } from './page.ts'

/** A search is sent after a pause in typing. */
const TYPING_MS = 180
const RETRY_MS = 3000

/** A page of the list, as the gateway returned it. */
type Found = {
  readonly place: ListPlace
  readonly data: readonly CampaignHead[]
  readonly total: number
  /** Number of the last page. */
  readonly last: number
}

export function createList(page: CampaignsPage) {
  let customer: Customer | undefined
  let place = LIST
  let isShown = false
  /** The text in the search field; `place` follows after a pause in typing. */
  let words = ''
  let found: Found | undefined
  let trouble = ''
  let timer: ReturnType<typeof setTimeout> | undefined
  const retry = createVisibleTimer()
  /** Number of the newest request: answers to older ones are dropped. */
  let asked = 0

  function show(watched: Customer, wanted: ListPlace) {
    // Rows of another customer must not be shown while this one's are being loaded.
    if (customer?.customerId !== watched.customerId) found = undefined
    customer = watched
    place = wanted
    words = place.search
    isShown = true
    load()
    return stop
  }

  function stop() {
    isShown = false
    asked++
    clearTimeout(timer)
    retry.stop()
  }

  /** The place for the text in the search field. */
  function typed(): ListPlace {
    const search = words.trim()
    return search === place.search ? place : { ...place, search, page: 1 }
  }

  function searchSoon(text: string) {
    words = text
    clearTimeout(timer)
    timer = setTimeout(() => ask(typed(), true), TYPING_MS)
    page.draw()
  }

  /** The pager's links belong to the previous search, so a changed search is shown first. */
  function turnAfterTyping(event: Event) {
    if (typed() === place) return
    event.preventDefault()
    ask(typed(), true)
  }

  /** Loads another place. Only a choice adds an entry to the history, typing does not. */
  function ask(wanted: ListPlace, isTyping = false) {
    clearTimeout(timer)
    if (page.href(wanted) === page.href(place)) return
    place = wanted
    page.go(place, isTyping)
    load()
  }

  function showAll() {
    words = ''
    ask(LIST)
  }

  async function load() {
    if (!customer) return
    const mine = ++asked
    const wanted = place
    retry.stop()
    page.draw()
    const answer = await loadList(customer.customerId, wanted, PAGE_SIZE)
    if (mine !== asked || page.endIfDenied(answer.status, customer)) return
    page.setState(answer.status === 0 ? 'unreachable' : '')
    if (!answer.ok) {
      trouble = answer.status === 0 ? '' : describeRefusal(answer)
      retry.set(load, RETRY_MS)
      return page.draw()
    }
    trouble = ''
    const { data, total } = answer.body
    const last = Math.max(1, Math.ceil(total / PAGE_SIZE))
    // An old link may name a page that no longer exists.
    if (wanted.page > last) return ask({ ...wanted, page: last }, true)
    found = { place: wanted, data, total, last }
    page.draw()
  }

  function View() {
    const isFiltered = found && (found.place.search !== '' || found.place.type !== '')
    const isNone = found?.total === 0
    const isFirst = isNone && !isFiltered
    return (
      <>
        <div class="head">
          <h2 tabIndex={-1}>Campaigns</h2>
          <p class="found" role="status" data-test="found">
            {found && !isFirst && counted(found.total, 'campaign')}
          </p>
          <NewButton test="new-campaign" />
        </div>
        <div class="card">
          <div class="bar" hidden={isFirst}>
            <label class="look">
              <span class="sr">Search names and subject lines</span>
              <input
                type="search"
                placeholder="Name or subject line…"
                autocomplete="off"
                spellcheck={false}
                maxLength={MAX_SEARCH}
                value={words}
                onInput={({ currentTarget }) => searchSoon(currentTarget.value)}
                // Text typed just before another view opens must still be there on the way back.
                onChange={() => isShown && page.go(typed(), true)}
                data-test="search"
              />
            </label>
            <div class="segments" role="group" aria-label="Channel">
              <TypeButton type="" name="All" />
              {[...TYPES].map(([type, name]) => (
                <TypeButton key={type} type={type} name={name} />
              ))}
            </div>
          </div>
          <p class="trouble" role="alert" hidden={!trouble}>
            {trouble}
          </p>
          <div class="columns" aria-hidden="true" hidden={isNone}>
            <span>Campaign</span>
            <span>Channel</span>
            <span>Sends</span>
            <span>utm_campaign</span>
          </div>
          <ol
            class="rows"
            aria-label="Campaigns, newest first"
            hidden={isNone}
            data-test="campaigns"
          >
            {found?.data.map((head) => (
              <Row key={head.id} {...head} />
            ))}
          </ol>
          <div class="none" hidden={!isNone || isFirst} data-test="no-match">
            {found && <NoMatch {...found.place} />}
          </div>
          <div class="first" hidden={!isFirst} data-test="no-campaigns">
            <FirstSteps />
          </div>
        </div>
        <nav class="pager" aria-label="More campaigns" hidden={!found || found.last === 1}>
          {found && <Pager {...found} />}
        </nav>
      </>
    )
  }

  function NewButton({ test }: { readonly test: string }) {
    return (
      <a class="button primary" href={page.href({ view: 'new' })} data-place data-test={test}>
        <Sign name="plus" />
        New campaign
      </a>
    )
  }

  function TypeButton({ type, name }: { readonly type: string; readonly name: string }) {
    return (
      <button
        type="button"
        aria-pressed={type === place.type}
        onClick={() => ask({ ...typed(), type, page: 1 })}
        data-test={`type-${type || 'all'}`}
      >
        {isType(type) && <Sign name={type} />}
        <span>{name}</span>
      </button>
    )
  }

  function Row({ id, type, status, subject, scheduling, tracking }: CampaignHead) {
    return (
      <li data-id={id} data-test="campaign-row">
        <div class="what">
          <a
            href={page.href({ view: 'campaign', id, bots: false })}
            data-place
            data-test="open-campaign"
          >
            {subject.name}
          </a>
          <span>{subject.subject_line}</span>
        </div>
        <Channel type={type} />
        <span class="sends">
          {showMoment(scheduling.send_at)}
          <small>{status}</small>
        </span>
        <code class="utm">{tracking.utm_campaign}</code>
      </li>
    )
  }

  function NoMatch({ search, type }: ListPlace) {
    const named = type ? `${TYPES.get(type)} campaign` : 'campaign'
    return (
      <>
        <p>
          {search
            ? `No ${named} has “${search}” in its name or subject line.`
            : `There is no ${named} yet.`}
        </p>
        <button type="button" onClick={showAll} data-test="show-all">
          Show all campaigns
        </button>
      </>
    )
  }

  function FirstSteps() {
    return (
      <>
        <h3>See what a newsletter achieves in the shop</h3>
        <ol>
          <li>
            <b>Create a campaign.</b>
            <br />
            Create it here, or from a server with the client’s campaigns.create. Give it three utm
            values of its own.
          </li>
          <li>
            <b>Put its link into the newsletter.</b>
            <br />
            You find it on the campaign’s page: the shop’s address with the utm values, ready to
            copy.
          </li>
          <li>
            <b>Watch the report fill.</b>
            <br />
            It counts the visitors that come by this link, and their product views, carts and
            checkouts.
          </li>
        </ol>
        <NewButton test="first-campaign" />
      </>
    )
  }

  function Pager({ place: shown, total, last }: Found) {
    const from = (shown.page - 1) * PAGE_SIZE + 1
    const to = Math.min(total, shown.page * PAGE_SIZE)
    const newer = shown.page > 1 ? page.href({ ...shown, page: shown.page - 1 }) : undefined
    const older = shown.page < last ? page.href({ ...shown, page: shown.page + 1 }) : undefined
    return (
      <>
        <Turn href={newer} test="newer" onClick={turnAfterTyping}>
          <Sign name="back" />
          Newer
        </Turn>
        <span>
          {number(from)}–{number(to)} of {number(total)}
        </span>
        <Turn href={older} test="older" onClick={turnAfterTyping}>
          Older
          <Sign name="next" />
        </Turn>
      </>
    )
  }

  return { View, show, reload: load }
}

/** The link to the previous or next page; plain text if there is no such page. */
function Turn({
  href,
  test,
  onClick,
  children,
}: {
  readonly href: string | undefined
  readonly test: string
  readonly onClick: (event: Event) => void
  readonly children: ComponentChildren
}) {
  if (href === undefined)
    return (
      <span class="button off" aria-hidden="true">
        {children}
      </span>
    )
  return (
    <a class="button" href={href} onClick={onClick} data-place data-test={test}>
      {children}
    </a>
  )
}
