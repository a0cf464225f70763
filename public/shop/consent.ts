/**
 * The shop's question for consent. The script reads the answer from the buttons themselves (`data-track-consent`); this
 * file only shows and hides the question.
 */
import type {} from '../../src/tracker/global.d.ts'
import { $ } from './page.ts'

const STATES = {
  granted: 'What you do here is recorded.',
  denied: 'Nothing is recorded.',
  open: 'You have not answered yet.',
} as const

/** Asks visitors who have not answered, if the shop's key asks for consent. The foot of the page then has a button to ask again. */
export function startConsent(): void {
  let isAskedAgain = false

  function draw() {
    const state = track.consentState
    $('#consent').hidden = state !== undefined && !isAskedAgain
    // A key that does not ask for consent has it from the start.
    if (state !== 'granted' || isRemembered()) $('#consent-again').hidden = false
    const text = document.querySelector('#consent-state')
    if (text) text.textContent = STATES[state ?? 'open']
  }
  function start() {
    track.on('consent', draw)
    draw()
  }

  $('#consent-again').addEventListener('click', () => {
    isAskedAgain = true
    draw()
    $('#consent button').focus()
  })
  $('#consent').addEventListener('click', ({ target }) => {
    if (!(target instanceof HTMLButtonElement)) return
    isAskedAgain = false
    draw()
  })
  // Until the script has loaded, `track` is the stub, and each of its properties is a function.
  if (typeof track.version === 'string') start()
  else $('script[src*="/t/j/"]').addEventListener('load', start)
}

/** Whether the script remembers an answer of this visitor. */
function isRemembered(): boolean {
  try {
    return localStorage.getItem('track.c') !== null
  } catch {
    return false
  }
}
