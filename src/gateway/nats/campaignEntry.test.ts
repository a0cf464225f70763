import { expect, test } from 'vitest'
import { makeCampaign } from '../../test/campaignContract.ts'
import { toCampaignRow } from '../sqlite/campaignRows.ts'
import { campaignKey, decodeCampaign, encodeCampaign } from './campaignEntry.ts'

test('a key is one of the bucket, short, and different for every customer and id', () => {
  const ids = ['a', 'A', 'a.b', 'a=2eb', '', ' ', '🛒', '*', '=sha256-', 'x'.repeat(200)]
  const long = [...ids, 'x'.repeat(201), `${'x'.repeat(50_000)}`, '🛒'.repeat(60)]
  const keys = long.flatMap((id) => ['demo', 'demo.a'].map((one) => campaignKey(3, one, id)))
  expect(new Set(keys).size).toBe(2 * long.length)
  for (const key of keys) {
    expect(key).toMatch(/^3\.demo(=2ea)?\.[-=\w]+$/)
    expect(key.length).toBeLessThan(300)
  }
})

test('an entry is decoded as it was, with its content or with the name of it', () => {
  const row = toCampaignRow('ü.shop', makeCampaign('1', 'a\n\nb 🛒'))
  const { customer, summary, content } = row
  const contentBytes = content.length
  const inline = decodeCampaign(encodeCampaign(row))
  expect(inline).toEqual({ customer, summary, object: undefined, contentBytes, content })
  expect(decodeCampaign(encodeCampaign(row, 'name'))).toEqual({
    ...{ customer, summary, object: 'name', contentBytes },
    content: Buffer.of(),
  })
  for (const wrong of ['', '{}', '{}\n', 'no campaign\n\n'])
    expect(() => decodeCampaign(Buffer.from(wrong))).toThrow(SyntaxError)
})
