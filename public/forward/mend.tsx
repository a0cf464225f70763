import type { TargetedEvent } from 'preact'
import { useState } from 'preact/hooks'
import type { Payload, Preview } from './data.ts'
import { changesOf, type Patch, readPatch } from './patch.ts'

/** A form for a JSON merge patch. It can be saved after its preview was seen. */
export function Mend({
  what,
  isBusy,
  preview,
  onPreview,
  onForget,
  onSave,
  onCancel,
}: {
  /** What is mended: `3 letters`. */
  readonly what: string
  readonly isBusy: boolean
  /** Of the patch as it is. Undefined before it was asked for. */
  readonly preview: readonly Preview[] | undefined
  readonly onPreview: (patch: Patch) => void
  /** The patch was changed, so the preview is not of it any more. */
  readonly onForget: () => void
  readonly onSave: (patch: Patch, isReplayed: boolean) => void
  readonly onCancel: () => void
}) {
  const [text, setText] = useState('')
  const [fault, setFault] = useState('')

  function withPatch(act: (patch: Patch) => void) {
    const read = readPatch(text)
    setFault(read.ok ? '' : read.fault)
    if (read.ok) act(read.patch)
  }

  function submit(event: TargetedEvent<HTMLFormElement>) {
    event.preventDefault()
    withPatch(onPreview)
  }

  return (
    <form class="mend" onSubmit={submit} data-test="mend-form">
      <label for="patch">A patch for {what}</label>
      <p class="hint" id="patch-hint">
        JSON with the fields that change: <code>{'{"product_id": 42}'}</code> sets a field,{' '}
        <code>{'{"source": null}'}</code> removes one. It takes the place of an earlier patch; an
        empty text removes that. The log stays as it is.
      </p>
      <textarea
        id="patch"
        aria-describedby="patch-hint"
        rows={4}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={text}
        onInput={({ currentTarget }) => {
          setText(currentTarget.value)
          setFault('')
          onForget()
        }}
        data-test="patch"
      />
      <p class="wrong" role="alert" data-test="patch-fault">
        {fault}
      </p>
      {preview && <Previews preview={preview} />}
      <div class="buttons">
        <button type="submit" aria-disabled={isBusy} data-test="preview">
          Preview
        </button>
        <button
          type="button"
          class="primary"
          disabled={preview === undefined}
          aria-disabled={isBusy}
          onClick={() => withPatch((patch) => onSave(patch, true))}
          data-test="save-replay"
        >
          Save and replay
        </button>
        <button
          type="button"
          disabled={preview === undefined}
          aria-disabled={isBusy}
          onClick={() => withPatch((patch) => onSave(patch, false))}
          data-test="save"
        >
          Save
        </button>
        <button type="button" onClick={onCancel}>
          Cancel
        </button>
      </div>
    </form>
  )
}

function Previews({ preview }: { readonly preview: readonly Preview[] }) {
  return (
    <div role="status" data-test="previews">
      <p class="hint">
        {preview.length === 0
          ? 'There is no letter to show.'
          : preview.every(({ fault }) => fault)
            ? 'They could not be sent so:'
            : 'The first of them would change so:'}
      </p>
      <ul class="previews">
        {preview.map(({ seq, operation, before, after, fault }) => (
          <li key={seq}>
            <b>{operation}</b> {fault ? <span class="wrong">{fault}</span> : null}
            {after && <Changes before={before} after={after} />}
          </li>
        ))}
      </ul>
    </div>
  )
}

function Changes({ before, after }: { readonly before: Payload; readonly after: Payload }) {
  const changes = changesOf(before, after)
  if (changes.length === 0) return <span class="hint">Nothing changes.</span>
  return (
    <dl>
      {changes.map(({ name, from, to }) => (
        <div key={name}>
          <dt>
            <code>{name}</code>
          </dt>
          <dd>
            {from === undefined ? <span class="hint">nothing</span> : <del>{from}</del>} →{' '}
            {to === undefined ? <span class="hint">nothing</span> : <ins>{to}</ins>}
          </dd>
        </div>
      ))}
    </dl>
  )
}
