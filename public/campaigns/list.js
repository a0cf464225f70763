/** The list of campaigns: search and channel, which stand in the address, and pages of twenty. */
import { h, sign } from '/live/dom.js'
import { createLater } from '/live/later.js'
import { showState } from '/live/operator.js'
import { loadList } from './data.js'
import { counted, MAX_SEARCH, number, PAGE_SIZE, showMoment, TYPES } from './model.js'

/** Typing is waited out before the gateway is asked, ms. */
const TYPING_MS = 180
const RETRY_MS = 3000

export function createList(element, page) {
  const found = h('p', { class: 'found', role: 'status', 'data-test': 'found' })
  const rows = h('ol', {
    class: 'rows',
    'aria-label': 'Campaigns, newest first',
    'data-test': 'campaigns',
  })
  const pager = h('nav', {
    class: 'pager',
    'aria-label': 'More campaigns',
    hidden: '',
    onclick: turnAfterTyping,
  })
  const empty = h('div', { class: 'first', hidden: '', 'data-test': 'no-campaigns' })
  const none = h('div', { class: 'none', hidden: '', 'data-test': 'no-match' })
  const wrong = h('p', { class: 'trouble', role: 'alert', hidden: '' })
  const search = h('input', {
    type: 'search',
    id: 'search',
    placeholder: 'Name or subject line…',
    autocomplete: 'off',
    spellcheck: 'false',
    maxlength: MAX_SEARCH,
    'data-test': 'search',
    oninput: searchSoon,
    // Whoever goes on to something else at once finds what they typed when they come back.
    onchange: () => element.hidden || page.go(typed(), true),
  })
  const types = [['', 'All'], ...TYPES].map(([type, name]) =>
    h(
      'button',
      {
        type: 'button',
        value: type,
        'aria-pressed': 'false',
        'data-test': `type-${type || 'all'}`,
        onclick: () => ask({ ...typed(), type, page: 1 }),
      },
      ...(type ? [sign(`c-${type}`)] : []),
      h('span', {}, name),
    ),
  )
  const bar = h(
    'div',
    { class: 'bar' },
    h(
      'label',
      { class: 'look' },
      h('span', { class: 'sr' }, 'Search names and subject lines'),
      search,
    ),
    h('div', { class: 'segments', role: 'group', 'aria-label': 'Channel' }, ...types),
  )
  const columns = h(
    'div',
    { class: 'columns', 'aria-hidden': 'true' },
    ...['Campaign', 'Channel', 'Sends', 'utm_campaign'].map((name) => h('span', {}, name)),
  )
  const head = h(
    'div',
    { class: 'head' },
    h('h2', { tabindex: '-1' }, 'Campaigns'),
    found,
    newButton('new-campaign'),
  )
  element.append(head, h('div', { class: 'card' }, bar, wrong, columns, rows, none, empty), pager)

  let place
  let customer
  let timer = 0
  const retry = createLater()
  /** Each question has a number: an answer to an older one is let go. */
  let asked = 0

  function newButton(test) {
    return h(
      'a',
      { class: 'button primary', href: '#', 'data-place': '', 'data-new': '', 'data-test': test },
      sign('s-plus'),
      'New campaign',
    )
  }

  function show(watched, wanted) {
    // Rows of another customer are not shown while this one's are asked for.
    if (customer?.customerId !== watched.customerId) rows.replaceChildren()
    customer = watched
    place = wanted
    search.value = place.search
    load()
    return stop
  }

  function stop() {
    asked++
    clearTimeout(timer)
    retry.stop()
  }

  /** Where the search as it is typed by now leads. */
  function typed() {
    const text = search.value.trim()
    return text === place.search ? place : { ...place, search: text, page: 1 }
  }

  function searchSoon() {
    clearTimeout(timer)
    timer = setTimeout(() => ask(typed(), true), TYPING_MS)
  }

  /** The pages are those of the search before: the new one comes first. */
  function turnAfterTyping(event) {
    if (typed() === place) return
    event.preventDefault()
    ask(typed(), true)
  }

  /** Asks anew; typing makes no entries of the history, a choice does. */
  function ask(wanted, isTyping = false) {
    clearTimeout(timer)
    if (page.href(wanted) === page.href(place)) return
    place = wanted
    page.go(place, isTyping)
    load()
  }

  async function load() {
    const mine = ++asked
    retry.stop()
    drawFilters()
    const answer = await loadList(customer.customerId, place, PAGE_SIZE)
    if (mine !== asked || page.ends(answer.status, customer)) return
    showState(answer.status === 0 ? 'unreachable' : '')
    if (!answer.ok) {
      wrong.textContent =
        answer.status === 0 ? '' : (answer.body?.message ?? `That did not work (${answer.status}).`)
      wrong.hidden = !wrong.textContent
      retry.set(load, RETRY_MS)
      return
    }
    wrong.hidden = true
    const { total } = answer.body
    const last = Math.max(1, Math.ceil(total / PAGE_SIZE))
    // A page that has gone, of a link that is old.
    if (place.page > last) return ask({ ...place, page: last }, true)
    draw(answer.body.data, total, last)
  }

  function drawFilters() {
    for (const button of types)
      button.setAttribute('aria-pressed', String(button.value === place.type))
    for (const link of element.querySelectorAll('[data-new]'))
      link.href = page.href({ view: 'new' })
  }

  function draw(data, total, last) {
    const isFiltered = place.search !== '' || place.type !== ''
    rows.replaceChildren(...data.map(row))
    columns.hidden = rows.hidden = total === 0
    none.hidden = total > 0 || !isFiltered
    empty.hidden = total > 0 || isFiltered
    bar.hidden = !empty.hidden
    found.textContent = total || isFiltered ? counted(total, 'campaign') : ''
    if (!none.hidden) none.replaceChildren(...noMatch())
    if (!empty.hidden) empty.replaceChildren(...firstSteps())
    drawPager(total, last)
    drawFilters()
  }

  function row({ id, type, status, subject, scheduling, tracking }) {
    return h(
      'li',
      { 'data-id': id, 'data-test': 'campaign-row' },
      h(
        'div',
        { class: 'what' },
        h(
          'a',
          {
            href: page.href({ view: 'campaign', id }),
            'data-place': '',
            'data-test': 'open-campaign',
          },
          subject.name,
        ),
        h('span', {}, subject.subject_line),
      ),
      channel(type),
      h('span', { class: 'sends' }, showMoment(scheduling.send_at), h('small', {}, status)),
      h('code', { class: 'utm' }, tracking.utm_campaign),
    )
  }

  function noMatch() {
    const named = place.type ? `${TYPES.get(place.type)} campaign` : 'campaign'
    return [
      h(
        'p',
        {},
        place.search
          ? `No ${named} has “${place.search}” in its name or subject line.`
          : `There is no ${named} yet.`,
      ),
      h(
        'button',
        {
          type: 'button',
          'data-test': 'show-all',
          onclick: () => ask({ view: 'list', search: '', type: '', page: 1 }),
        },
        'Show all campaigns',
      ),
    ]
  }

  function firstSteps() {
    const step = (title, text) => h('li', {}, h('b', {}, title), h('br'), text)
    return [
      h('h3', {}, 'See what a newsletter does in the shop'),
      h(
        'ol',
        {},
        step(
          'Create a campaign.',
          'Here, or from a server with the client’s campaigns.create. It gets three utm values of its own.',
        ),
        step(
          'Put its link into the newsletter.',
          'The campaign’s page has it: the shop’s address with the utm values, ready to copy.',
        ),
        step(
          'Watch the report fill.',
          'Whoever comes by that link is counted: visitors, product views, carts, checkouts.',
        ),
      ),
      newButton('first-campaign'),
    ]
  }

  function drawPager(total, last) {
    pager.hidden = last === 1
    const from = (place.page - 1) * PAGE_SIZE + 1
    const to = Math.min(total, place.page * PAGE_SIZE)
    const turn = (name, by, ...inside) => {
      const isThere = place.page + by >= 1 && place.page + by <= last
      return isThere
        ? h(
            'a',
            {
              class: 'button',
              href: page.href({ ...place, page: place.page + by }),
              'data-place': '',
              'data-test': name,
            },
            ...inside,
          )
        : h('span', { class: 'button off', 'aria-hidden': 'true' }, ...inside)
    }
    pager.replaceChildren(
      turn('newer', -1, sign('s-back'), 'Newer'),
      h('span', {}, `${number(from)}–${number(to)} of ${number(total)}`),
      turn('older', 1, 'Older', sign('s-next')),
    )
  }

  return { element, show, reload: load }
}

/** A channel with its sign. */
export function channel(/** @type {string} */ type) {
  return h('span', { class: 'channel' }, sign(`c-${type}`), TYPES.get(type) ?? type)
}
