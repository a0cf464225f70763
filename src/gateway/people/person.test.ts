import { expect, test } from 'vitest'
import { addressOf } from './addressOf.ts'
import { readPerson } from './person.ts'

test.each([
  ['Anna.Berg@Example.ORG', 'anna.berg@example.org'],
  ['ANNA@EXAMPLE.ORG', 'anna@example.org'],
  ['jürgen@münchen.example', 'jürgen@xn--mnchen-3ya.example'],
  ['JÜRGEN@MÜNCHEN.EXAMPLE', 'jürgen@xn--mnchen-3ya.example'],
  // The same characters, decomposed.
  ['ju\u0308rgen@mu\u0308nchen.example', 'jürgen@xn--mnchen-3ya.example'],
  ['anna@xn--mnchen-3ya.example', 'anna@xn--mnchen-3ya.example'],
  // Two mailboxes at most providers.
  ['anna+shop@example.org', 'anna+shop@example.org'],
  ['a.n.n.a@example.org', 'a.n.n.a@example.org'],
])('%s is compared as %s', (address, expected) => {
  expect(addressOf(address)).toBe(expected)
})

test.each([
  [{ email: ' Anna@Example.org\n' }, { email: 'anna@example.org' }],
  [{ did: ' 5f2b-A ' }, { did: '5f2b-A' }],
])('%j is the person %j', (asked, person) => {
  expect(readPerson(asked)).toEqual({ ok: true, person })
})

test.each([
  [{}, 'either'],
  [{ email: 'anna@example.org', did: 'x' }, 'either'],
  [{ email: 'anna' }, 'e-mail address'],
  [{ email: 'anna@localhost' }, 'e-mail address'],
  [{ email: '' }, 'e-mail address'],
  [{ email: 7 }, 'e-mail address'],
  [{ email: null }, 'e-mail address'],
  [{ email: `${'a'.repeat(65)}@example.org` }, 'e-mail address'],
  [{ did: '  ' }, 'device id'],
  [{ did: 'x'.repeat(129) }, 'device id'],
  [{ did: ['x'] }, 'device id'],
])('%j is nobody', (asked, part) => {
  const read = readPerson(asked)
  expect(read).toEqual({ ok: false, message: expect.stringContaining(part) })
  expect(JSON.stringify(read)).not.toContain('anna')
})
