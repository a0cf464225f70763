import { expect, test } from 'vitest'
import { checkShop } from './checkShop.ts'

const BYTES = 2 ** 19
const fill = (text: string) => text.repeat(Math.floor(BYTES / text.length))
const POLICY = `<meta http-equiv=content-security-policy content="script-src 'self'">`

/** Pages that would take a time or a memory that grows faster than their length. */
const PAGES: Readonly<Record<string, string>> = {
  'many tags': fill('<script src=/t/j/KEY123></script>'),
  'many calls': fill('<script>track.search(</script>'),
  'many policies': fill(POLICY),
  'many policies and tags': fill(`${POLICY}<script src=/t/j/KEY123></script>`),
  'one long policy': POLICY.replace("'self'", fill('*.a.example ')),
  'a policy of many policies': POLICY.replace("'self'", fill('a,script-src ')),
  'many links': Array.from({ length: 40_000 }, (_, i) => `<a href=/${i}>`).join(''),
  'many forms': fill('<form><input name=q>'),
  'end tags without elements': '<div>'.repeat(500) + fill('</x>'),
  'one script with many attributes': `<script ${Array.from({ length: 40_000 }, (_, i) => `a${i}=/t/j/`).join(' ')}>`,
  'a comment with many tags': `<!--${fill('<script src=/t/j/KEY123>')}-->`,
  'many pushes': `<script>${fill('push({')}</script>`,
  'many entities': fill('&amp'),
  'a long key': `<script src=/t/j/${fill('k')}></script>`,
}

test.each(Object.entries(PAGES))('%s: the result is small', async (_, html) => {
  const { report, isReached } = await checkShop({
    shop: 'https://shop.example/',
    gateway: 'https://t.example',
    fetchPage: async (url) => ({
      ok: true,
      url,
      status: 200,
      headers: {},
      body: Buffer.from(html),
      sentBytes: html.length,
      isCut: false,
      redirects: [],
    }),
    askGateway: async () => ({ settings: undefined, findings: [] }),
  })
  expect(isReached).toBe(true)
  expect(report.findings.length).toBeLessThan(50)
  expect(JSON.stringify(report).length).toBeLessThan(50_000)
})
