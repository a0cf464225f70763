/** The script's tag to paste into a shop: shown while there are no events, and in a dialog. */
import type { RefObject } from 'preact'
import { CopyButton } from '../operator/copyButton.tsx'
import { findGateway } from '../operator/findGateway.ts'

/** The tag that loads the script of a tracking key from this gateway. */
export const writeTag = (trackingKey: string): string =>
  `<script async src="${findGateway()}/t/j/${encodeURIComponent(trackingKey)}"></script>`

export function FirstSteps({
  tag,
  setup,
  isDemo,
  isHidden,
}: {
  readonly tag: string
  /** Address of the set up page. */
  readonly setup: string
  readonly isDemo: boolean
  readonly isHidden: boolean
}) {
  return (
    <div class="first" hidden={isHidden} data-test="empty">
      <div class="waiting" aria-hidden="true">
        <i />
        <i />
        <i />
      </div>
      <h2>Waiting for the first event</h2>
      <ol>
        <li>
          Paste this tag anywhere into your shop’s pages, best into the <code>&lt;head&gt;</code>:
          <div class="paste">
            <code>{tag}</code>
            <CopyButton text={tag} label="Copy" test="copy-tag" />
          </div>
        </li>
        <li>
          Open a page of the shop in another tab. Its page view arrives here by itself.{' '}
          <a href={setup}>Set up</a> shows the rest: a check of the shop, and how to report each
          operation.
        </li>
        <li hidden={!isDemo}>
          No shop at hand?{' '}
          <a href="../shop/" target="shoptrail-shop" data-test="open-shop">
            Open the demo shop
          </a>{' '}
          and look at a mug.
        </li>
      </ol>
    </div>
  )
}

export function TagDialog({
  dialog,
  tag,
}: {
  readonly dialog: RefObject<HTMLDialogElement | null>
  readonly tag: string
}) {
  return (
    <dialog ref={dialog} class="tag" aria-labelledby="tag-title" data-test="tag-dialog">
      <form method="dialog">
        <h2 id="tag-title">Script tag</h2>
        <p>
          Paste it anywhere into every page of the shop, best into the <code>&lt;head&gt;</code>.
          Pages do not wait for it.
        </p>
        <div class="paste">
          <code>{tag}</code>
          <CopyButton text={tag} label="Copy" />
        </div>
        <button type="submit" class="primary">
          Done
        </button>
      </form>
    </dialog>
  )
}
