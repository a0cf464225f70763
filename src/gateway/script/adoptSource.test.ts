import { expect, test } from 'vitest'
import type { AdoptSettings, KeySettings } from '../../contract/settings.ts'
import { toAdoptSource } from './adoptSource.ts'

const UUID = '11111111-2222-4333-8444-555555555555'

/** The id that the script finds with these settings in this text. */
function find(adoptDid: true | AdoptSettings, text: string): string | undefined {
  const [pattern] = toAdoptSource({ adoptDid }) ?? []
  return pattern === undefined ? undefined : RegExp(pattern).exec(text)?.[1]
}

test.each<[string, KeySettings, string | undefined, string | undefined]>([
  ['by default', {}, UUID, undefined],
  ['with the setting', { adoptDid: true }, UUID, undefined],
  ['with the prefix', { dataLayerPrefix: '__sm__' }, UUID, undefined],
  ['without it', { adoptDid: false }, undefined, undefined],
  ['with another prefix', { dataLayerPrefix: 'shop_' }, undefined, undefined],
  ['with no prefix', { dataLayerPrefix: '' }, undefined, undefined],
  ['from another cookie', { adoptDid: { cookie: 'other' } }, undefined, undefined],
  ['from storage', { adoptDid: { storage: 'old.id' } }, undefined, 'old.id'],
  ['from nowhere', { adoptDid: {} }, undefined, undefined],
])('the cookie __sm__c is read only if the key says so: %s', (_, settings, id, storage) => {
  const [pattern, name] = toAdoptSource(settings) ?? []
  const text = `a=1; __sm__c={"did":"${UUID}","k":"ABCDEFGH"}`
  expect(pattern === undefined ? undefined : RegExp(pattern).exec(text)?.[1]).toBe(id)
  expect(name).toBe(storage)
})

test('another place is read whatever the prefix', () => {
  const source = toAdoptSource({ dataLayerPrefix: 'x', adoptDid: { cookie: 'v' } })
  expect(RegExp(source?.[0] as string).exec('v=abcd1234')?.[1]).toBe('abcd1234')
})

/** The same place as the default, by a setting. */
const PLACE = { cookie: '__sm__c', path: 'did' }
const JSON_TEXT = `{"did":"${UUID}","k":"ABCDEFGH"}`

test.each([
  ['as it is', JSON_TEXT],
  ['percent-encoded', encodeURIComponent(JSON_TEXT)],
  ['percent-encoded with small letters', encodeURIComponent(JSON_TEXT).toLowerCase()],
  ['only quotes and commas encoded', JSON_TEXT.replaceAll('"', '%22').replaceAll(',', '%2C')],
  ['the id not first', `{"k":"ABCDEFGH","did":"${UUID}"}`],
  ['with spaces', `{ "k" : "A" , "did" : "${UUID}" }`],
  ['with spaces, as a form encodes them', `%7B+%22k%22+:+1,+%22did%22+:+%22${UUID}%22+%7D`],
  ['with objects in front', `{"a":{"did":"wrong-id-1","b":[1,2]},"did":"${UUID}"}`],
  ['with the name as a value', `{"k":"did","x":"did","did":"${UUID}"}`],
  ['with quotes in a text', `{"k":"x\\"did\\":\\"wrong-id-1","did":"${UUID}"}`],
])('the id in a cookie: %s', (_, value) => {
  for (const text of [`__sm__c=${value}`, `a=1; __sm__c=${value}; z="did":"wrong-id-3"`])
    expect(find(PLACE, text)).toBe(UUID)
})

test.each([
  'a=1',
  '__sm__c=',
  '__sm__c={}',
  `x__sm__c=${JSON_TEXT}`,
  `a=; b__sm__c=${JSON_TEXT}`,
  `__sm__cx=${JSON_TEXT}`,
  `__sm__c=x; other=${JSON_TEXT}`,
  `__sm__c={"k":"A"}; other=${JSON_TEXT}`,
  '__sm__c={"did":null}',
  '__sm__c={"did":""}',
  '__sm__c={"did":"short"}',
  '__sm__c={"did":"with space 1"}',
  '__sm__c={"did":"with,comma1"}',
  '__sm__c={"did":"abcdefgh<script>"}',
  `__sm__c={"did":"${'x'.repeat(65)}"}`,
  '__sm__c={"did":{"did":"abcdefgh"}}',
  '__sm__c={"x":{"did":"abcdefgh"}}',
  '__sm__c={"x":[{"did":"abcdefgh"}]}',
  '__sm__c={"did":["abcdefgh"]}',
  '__sm__c={"did":"undefined"}',
  '__sm__c={"did":"00000000-0000-0000-0000-000000000000"}',
  '__sm__c={"xdid":"abcdefgh"}',
  '__sm__c={"did":"abcdefgh',
])('no id in %s', (text) => {
  expect(find(PLACE, text)).toBeUndefined()
})

test.each(['abcd1234', 'x'.repeat(64), 'A-Z_a.z-09', '12345678', 'undefine', '00000000aa'])(
  'an id that is no UUID: %s',
  (id) => {
    for (const place of [true, PLACE] as const) {
      expect(find(place, `__sm__c={"did":"${id}"}`)).toBe(id)
      expect(find(place, `__sm__c={"k":"A","did":"${id}","x":"y"}; did="wrong-id-1"`)).toBe(id)
      expect(find(place, `a=1; __sm__c=${encodeURIComponent(`{"k":"A","did":"${id}"}`)}`)).toBe(id)
      expect(find(place, `__sm__c={%22did%22:%22${id}%22%2C%22k%22:%22A%22}`)).toBe(id)
    }
    expect(find({ cookie: 'v' }, `v=${id}`)).toBe(id)
    expect(find({ storage: 'v' }, id)).toBe(id)
  },
)

test.each<[string, AdoptSettings, string, string | undefined]>([
  ['a whole cookie', { cookie: 'vid' }, 'a=1; vid=abcd1234; b=2', 'abcd1234'],
  ['in quotes', { cookie: 'vid' }, 'vid=%22abcd1234%22', 'abcd1234'],
  ['the last cookie', { cookie: 'vid' }, 'a=1; vid=abcd1234', 'abcd1234'],
  ['a part of a cookie', { cookie: 'vid' }, 'vid=abcd1234|x', undefined],
  ['the end of another name', { cookie: 'id' }, 'vid=abcd1234', undefined],
  ['special characters in a name', { cookie: '_pk.id(1)' }, '_pk.id(1)=abcd1234', 'abcd1234'],
  ['no wildcards in a name', { cookie: 'v.d' }, 'vid=abcd1234', undefined],
  ['no expression in a name', { cookie: '.*' }, 'vid=abcd1234', undefined],
  ['storage', { storage: 'vid' }, '"abcd1234"', 'abcd1234'],
  ['storage with more', { storage: 'vid' }, 'abcd1234 x', undefined],
  ['a number', { storage: 'v', path: 'id' }, '{"id":1234567890123,"x":1}', '1234567890123'],
  ['a number at the end', { storage: 'v', path: 'id' }, '{"x":1,"id":12345678 }', '12345678'],
  [
    'two fields',
    { storage: 'v', path: 'v.id' },
    '{"id":"wrong-id-1","v":{"x":1,"id":"abcd1234"}}',
    'abcd1234',
  ],
  [
    'the second missing',
    { storage: 'v', path: 'v.id' },
    '{"v":{"x":1},"w":{"id":"wrong-id-1"}}',
    undefined,
  ],
  [
    'the second deeper',
    { storage: 'v', path: 'v.id' },
    '{"v":{"w":{"id":"wrong-id-1"}}}',
    undefined,
  ],
  [
    'a special character, encoded',
    { cookie: 'm', path: '$device_id' },
    'm=%7B%22%24device_id%22%3A%22abcd1234%22%7D',
    'abcd1234',
  ],
  [
    'a special character, plain',
    { cookie: 'm', path: '$device_id' },
    'm={"$device_id":"abcd1234"}',
    'abcd1234',
  ],
  [
    'letters of any script',
    { cookie: 'm', path: 'gerät' },
    'm=%7B%22ger%C3%A4t%22%3A%22abcd1234%22%7D',
    'abcd1234',
  ],
  ['a broken character', { cookie: 'm', path: '\ud800' }, 'm={"x":"abcd1234"}', undefined],
])('a configured place: %s', (_, settings, text, id) => {
  expect(find(settings, text)).toBe(id)
})

test.each([
  'a=1',
  '__sm__c=',
  '__sm__c={}',
  `x__sm__c=${JSON_TEXT}`,
  `__sm__cx=${JSON_TEXT}`,
  `__sm__c={"k":"A"}; other=${JSON_TEXT}`,
  '__sm__c={"did":null,"k":"ABCDEFGH"}',
  '__sm__c={"did":"","k":"ABCDEFGH"}',
  '__sm__c={"did":"short","k":"ABCDEFGH"}',
  '__sm__c={"did":"with space 1"}',
  `__sm__c={"did":"${'x'.repeat(65)}"}`,
  '__sm__c={"did":"undefined"}',
  '__sm__c={"xdid":"abcdefgh"}',
  '__sm__c={"k":"did","x":"abcdefgh"}',
  '__sm__c={"k":"x\\"did\\":\\"abcdefgh"}',
])('no id by default in %s', (text) => {
  expect(find(true, text)).toBeUndefined()
})

test('hostile texts take little time', () => {
  const settings = { cookie: 'v', path: 'a.a.a.a.a' }
  const steps = ['{"a":', ',"a":{', '"', '%22', '[{', '%7B', ',    ', '\\"', 'x']
  for (const step of steps)
    for (const start of ['v=', 'v={', 'v={"a":{'])
      expect(find(settings, start + step.repeat(50_000))).toBeUndefined()
  for (const step of ['"did', '2did"', '%22did', '"did: ', 'x'])
    expect(find(true, `__sm__c=${step.repeat(1_000)}`)).toBeUndefined()
})
