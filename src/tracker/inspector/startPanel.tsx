import { render } from 'preact'
import { ATTRIBUTES } from '../../contract/settings.ts'
import type { InspectorState } from '../debug.ts'
import type { TrackNotice } from '../global.d.ts'
import { guard } from '../lib/guard.ts'
import { landingUrl } from '../lib/landingUrl.ts'
import { listen } from '../lib/listen.ts'
import { now } from '../lib/now.ts'
import { createStore } from '../lib/storage.ts'
import type { ConsentFacts } from './describeConsent.ts'
import { EventList } from './eventList.tsx'
import { findUntracked } from './findUntracked.ts'
import type { Guess } from './guess.ts'
import { CloseIcon, Mark, MinimiseIcon, MoveIcon } from './icons.tsx'
import { createModel } from './model.ts'
import { createMover } from './movePanel.ts'
import { createOutline } from './outline.ts'
import { createPageFacts } from './pageFacts.ts'
import { PageState } from './pageState.tsx'
import { createPanelMemory, type Look, TABS, type Tab } from './panelMemory.ts'
import { UntrackedList } from './untrackedList.tsx'

declare const __inspectorStyle__: string

/** Opens and closes the panel. */
export const SHORTCUT = 'Alt+Shift+T'
/** The panel is added after the page has loaded, or this long after it started: a framework may compare the document. */
const MAX_LOAD_MS = 3_000
/** The ages in the state of the page are drawn again after this time. */
const AGES_MS = 1_000
/** The outbox is read again for the payload of an unknown event after this time at the earliest. */
const REREAD_MS = 1_000
/** Events of the visitor at the panel, which are not for the page. Listeners in the capture phase of window still see them. */
const OWN_EVENTS =
  'click dblclick auxclick contextmenu mousedown mouseup mousemove mouseover mouseout pointerdown pointerup pointermove pointerover pointerout touchstart touchmove touchend wheel keydown keyup keypress beforeinput input change focusin focusout copy cut paste'

export type Panel = {
  /** Adds a notice of the inspector itself. */
  add(notice: TrackNotice): void
  /** The consent has changed. */
  showConsent(facts: ConsentFacts): void
  /** Opens the panel, if it is not open. */
  open(): void
}

/**
 * Starts the panel over the page. It lies in a closed shadow root: rules, scripts and the readers of the script do not
 * reach into it. It changes nothing of the page, except that one element is added to `<html>`.
 *
 * @param state What the script gives.
 * @returns Undefined if the browser has no constructable stylesheets: other styles may be forbidden by the page's policy.
 */
export function startPanel(state: InspectorState): Panel | undefined {
  const { helpers, configs, outbox, seen } = state
  const sheet = guard(() => {
    const own = new CSSStyleSheet()
    own.replaceSync(__inspectorStyle__)
    return own
  })
  if (!sheet) return undefined

  const nextFrame = requestAnimationFrame.bind(window)
  const isAllowed = () => helpers.consentState === 'granted'
  const memory = createPanelMemory(createStore(() => isAllowed() && sessionStorage))
  let stored = outbox.all()
  let storedAt = now()
  const model = createModel((id, key) => {
    const find = () => stored.find((entry) => entry.name.startsWith(id) && entry.key === key)?.body
    // Another tab may have added it.
    if (!find() && now() - storedAt > REREAD_MS) {
      stored = outbox.all()
      storedAt = now()
    }
    return find()
  })

  let look: Look = memory.read()
  // Closed on an earlier page, and asked for again.
  if (isAskedFor()) look = { ...look, shown: 'open' }
  let expanded: ReadonlySet<number> = new Set()
  let filter = { onlyProblems: false, chosenKey: '' }
  let guesses: readonly Guess[] = []
  let isGuessed = false
  let message = ''
  let isAsking = false
  let json: string | undefined
  let consent: ConsentFacts | undefined
  /** Where the focus was when the shortcut opened the panel. */
  let focused: HTMLElement | undefined

  const host = document.createElement('shoptrail-inspector')
  const root = host.attachShadow({ mode: 'closed' })
  root.adoptedStyleSheets = [sheet]
  // Both are in the top layer, if the browser has one: above the dialogs of the page, and the panel above the outline.
  const [outlineFrame, frame] = [document.createElement('div'), document.createElement('section')]
  outlineFrame.className = 'outline'
  frame.setAttribute('aria-label', 'shoptrail inspector')
  frame.lang = 'en'
  for (const one of [outlineFrame, frame]) {
    one.setAttribute('popover', 'manual')
    root.append(one)
  }
  const { mark, update } = createOutline(outlineFrame)
  const mover = createMover(
    frame,
    () => look,
    (place) => {
      look = { ...look, place }
    },
    () => memory.write(look),
  )
  for (const type of OWN_EVENTS.split(' '))
    root.addEventListener(type, (event) => event.stopPropagation(), { passive: true })

  // What the panel shows

  let isDrawing = false
  let isReady = false
  /** Draws in the next frame. Nothing is drawn while the panel is minimised or closed, or the tab is hidden. */
  const ask = () => {
    if (isDrawing || !isReady || look.shown !== 'open') return
    isDrawing = true
    nextFrame(() => {
      isDrawing = false
      draw()
    })
  }

  const page = createPageFacts(state, model, () => consent, ask)

  const set = (change: Partial<Look>) => {
    look = { ...look, ...change }
    memory.write(look)
  }

  /** Runs what a page may have broken by replacing functions of the browser. Then the panel ends, without an error on the page. */
  const attempt = (run: () => void) => {
    try {
      run()
    } catch (error) {
      isReady = false
      host.remove()
      console.warn(
        'track: the panel is closed, since the page has replaced what it needs. This console goes on.',
        error,
      )
    }
  }

  const draw = () => attempt(drawNow)

  const drawNow = () => {
    if (!isReady) return
    const { shown } = look
    // A page may replace the content of its document. While it writes a new one, there may be none.
    if (shown === 'closed' || !document.documentElement) return host.remove()
    if (!host.isConnected) document.documentElement.append(host)
    frame.className = `frame ${shown}`
    render(shown === 'open' ? <Open /> : <Minimised />, frame)
    for (const one of [outlineFrame, frame])
      if (!guard(() => one.matches(':popover-open'))) one.showPopover?.()
    mover.place()
  }

  const show = (shown: Look['shown']) => {
    mark(undefined)
    message = ''
    isAsking = false
    json = undefined
    set({ shown })
    draw()
  }
  const close = () => {
    const inside = root.activeElement
    show('closed')
    if (inside) focused?.focus({ preventScroll: true })
    focused = undefined
  }

  const choose = (tab: Tab) => {
    message = ''
    set({ tab })
    if (tab === 'untracked') isGuessed = false
    draw()
  }

  const tell = (text: string) => {
    message = text
    ask()
  }

  const scrollTo = (element: Element) => {
    element.scrollIntoView({ block: 'center', behavior: 'instant' })
    mark(element)
  }

  const reveal = (number: number) => {
    expanded = new Set([...expanded, number])
    filter = { onlyProblems: false, chosenKey: '' }
    draw()
    const row = root.querySelector<HTMLElement>(`[data-number="${number}"] .row`)
    row?.scrollIntoView({ block: 'nearest' })
    row?.focus()
  }

  const copy = async (text: string, what: string) => {
    try {
      await navigator.clipboard.writeText(text)
      tell(`${what} ${/s$/.test(what) ? 'are' : 'is'} copied.`)
    } catch {
      // Not over plain http, and not if the page's Permissions-Policy forbids it.
      json = text
      set({ tab: 'state' })
      draw()
      root.querySelector('textarea')?.select()
      tell(
        'The browser does not let this page copy. The text is selected: copy it with the keyboard.',
      )
    }
  }

  // What it reads

  const lookForUntracked = () => {
    isGuessed = true
    const reported = [...new Set([...look.reported, ...model.operations()])]
    if (reported.length > look.reported.length) set({ reported })
    // The reader of schema.org descriptions waits some seconds before it reports.
    const isDescribed = [...configs.values()].some(({ schemaOrg }) => schemaOrg)
    const tracked = new Set(isDescribed ? [...reported, 'viewProduct'] : reported)
    guesses = guard(() => findUntracked(document, tracked), [])
  }

  // How it looks

  const Minimised = () => (
    <button
      type="button"
      class="pill"
      aria-label="Open the shoptrail inspector"
      onClick={() => show('open')}
    >
      <Mark /> shoptrail
    </button>
  )

  const Open = () => {
    const events = model.events()
    if (look.tab === 'untracked' && !isGuessed) lookForUntracked()
    return (
      <>
        <header class="top" onPointerDown={mover.drag}>
          <button
            type="button"
            class="plain icon move"
            aria-label="Move the panel with the arrow keys"
            title="Move: drag, or press the arrow keys"
            onKeyDown={mover.moveByKey}
          >
            <MoveIcon />
          </button>
          <Mark />
          <h2>shoptrail</h2>
          <button
            type="button"
            class="plain icon"
            aria-label="Minimise"
            title="Minimise"
            onClick={() => show('minimised')}
          >
            <MinimiseIcon />
          </button>
          <button
            type="button"
            class="plain icon"
            aria-label="Close"
            title={`Close (Escape). ${SHORTCUT} opens it again`}
            onClick={close}
          >
            <CloseIcon />
          </button>
        </header>
        <div class="tabs" role="tablist" aria-label="shoptrail inspector" onKeyDown={turn}>
          {TABS.map((tab) => (
            <button
              key={tab}
              type="button"
              role="tab"
              id={`tab-${tab}`}
              aria-selected={look.tab === tab}
              aria-controls="body"
              tabIndex={look.tab === tab ? 0 : -1}
              onClick={() => choose(tab)}
            >
              {TITLES[tab]}
              {tab === 'events' && <span class="count">{events.length}</span>}
              {tab === 'untracked' && isGuessed && <span class="count">{guesses.length}</span>}
            </button>
          ))}
        </div>
        <div class="body" id="body" role="tabpanel" aria-labelledby={`tab-${look.tab}`}>
          {look.tab === 'events' && (
            <EventList
              events={events}
              forgotten={model.forgotten()}
              keys={[...configs.keys()]}
              expanded={expanded}
              {...filter}
              toggle={(number) => {
                const next = new Set(expanded)
                if (!next.delete(number)) next.add(number)
                expanded = next
                draw()
              }}
              reveal={reveal}
              filter={(onlyProblems, chosenKey) => {
                filter = { onlyProblems, chosenKey }
                draw()
              }}
              outline={mark}
              scrollTo={scrollTo}
            />
          )}
          {look.tab === 'untracked' && (
            <UntrackedList
              guesses={guesses}
              isOff={[...configs.values()].every(({ attributes = ATTRIBUTES }) => !attributes)}
              look={() => {
                lookForUntracked()
                draw()
              }}
              copy={copy}
              outline={mark}
              scrollTo={scrollTo}
            />
          )}
          {look.tab === 'state' && (
            <PageState
              facts={page.read()}
              isAsking={isAsking}
              json={json}
              flush={async () => {
                tell('Sending…')
                const { delivered, kept, dropped } = await helpers.flush()
                tell(`Delivered ${delivered}, kept ${kept}, dropped ${dropped}.`)
              }}
              ask={(is) => {
                isAsking = is
                draw()
              }}
              reset={() => {
                isAsking = false
                helpers.reset()
                tell('There is a new device id, and the outbox is empty.')
              }}
              copy={copy}
              copyJson={() => attempt(() => copy(page.toJson(), 'The JSON'))}
            />
          )}
        </div>
        <p role="status">{message}</p>
      </>
    )
  }

  // How it is moved

  /** The arrow keys, Home and End turn to another tab. */
  const turn = (event: KeyboardEvent) => {
    const at = TABS.indexOf(look.tab)
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: TABS.length - 1 }[event.key]
    const tab = next === undefined ? undefined : TABS[(next + TABS.length) % TABS.length]
    if (!tab) return
    event.preventDefault()
    choose(tab)
    root.querySelector<HTMLElement>(`#tab-${tab}`)?.focus()
  }

  frame.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape') return
    // A dialog of the page would close too.
    event.preventDefault()
    if (isAsking) {
      isAsking = false
      draw()
    } else close()
  })
  // After the page's own listeners: a shortcut that the page uses is the page's.
  listen(window, 'keydown', (event) => {
    const { altKey, shiftKey, ctrlKey, metaKey, code, defaultPrevented } = event as KeyboardEvent
    if (code !== 'KeyT' || !altKey || !shiftKey || ctrlKey || metaKey || defaultPrevented) return
    if (look.shown === 'open') return close()
    focused = document.activeElement as HTMLElement
    show('open')
    root.querySelector<HTMLElement>(`#tab-${look.tab}`)?.focus({ preventScroll: true })
  })
  listen(window, 'resize', () => {
    if (look.shown === 'open' && isReady) mover.place()
    update()
  })
  listen(window, 'scroll', update, true)

  // Where the events come from

  const add = (kind: (typeof KINDS)[number], notice: TrackNotice, at: number) => {
    model.add(kind, notice, at)
    if (notice.from === 'pageView') isGuessed = false
    ask()
  }
  for (const [kind, notice, at] of seen) {
    const own = KINDS.find((one) => one === kind)
    if (own) add(own, notice, at)
  }
  for (const kind of KINDS) helpers.on(kind, (notice) => add(kind, notice, now()))
  helpers.on('consent', ask)

  const begin = () => {
    if (isReady) return
    isReady = true
    attempt(page.ask)
    draw()
  }
  if (document.readyState === 'complete') begin()
  else {
    listen(window, 'load', begin)
    setTimeout(begin, MAX_LOAD_MS)
  }
  setInterval(() => {
    if (look.tab === 'state') ask()
  }, AGES_MS)

  return {
    add: (notice) => add('dropped', notice, now()),
    showConsent(facts) {
      consent = facts
      ask()
    },
    open() {
      if (look.shown !== 'open') show('open')
    },
  }
}

const KINDS = ['accepted', 'sent', 'delivered', 'held', 'dropped'] as const
const TITLES: { readonly [T in Tab]: string } = {
  events: 'Events',
  untracked: 'Not tracked',
  state: 'State',
}
/** Whether the address of the page switches debug mode on, and not only that of an earlier page of the tab. */
const isAskedFor = () => /[?&]track.debug=1/.test(landingUrl(location.href))
