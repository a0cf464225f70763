/** A preview of the new campaign as its recipients would see it, and its link. */
import { linkOf, type NewCampaign, UTM } from './model.ts'
import { Preview } from './preview.tsx'
import type { Shop } from './shop.ts'

/** Shown in the preview while the HTML is empty. */
const NOTHING_YET = '<p style="color: #6a7772">The preview appears here as you write the HTML.</p>'

export function Letter({
  campaign: { type, sender, subject, content, tracking },
  shop,
}: {
  readonly campaign: NewCampaign
  readonly shop: Shop
}) {
  const link = UTM.every((name) => tracking[name]) && linkOf(shop.href, tracking)
  return (
    <aside class="letter card" aria-label="Preview">
      <div class="envelope">
        <b>{sender.name || 'Sender'}</b>
        <p class="subject">
          {subject.subject_line || (type === 'email' ? 'Subject line' : 'Title')}
        </p>
        <p class="text">{subject.preview_text || 'Preview text'}</p>
      </div>
      <Preview
        html={content.html.trim() ? content.html : NOTHING_YET}
        title="How the campaign looks"
      />
      <div class="goes">
        <span>Its link</span>
        {link ? (
          <code data-test="new-link">{link}</code>
        ) : (
          <span data-test="no-link">appears when all three utm values are filled in.</span>
        )}
        {link && !shop?.isKnown && (
          <span>Put your shop’s address in front of the question mark.</span>
        )}
      </div>
    </aside>
  )
}
