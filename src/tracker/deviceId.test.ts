import { expect, test, vi } from 'vitest'
import { createMemoryStorage } from '../test/storage.ts'
import { createDeviceId } from './deviceId.ts'
import { createStore } from './lib/storage.ts'

const UUID4 = /^[\da-f]{8}-[\da-f]{4}-4[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/
const KEPT = '11111111-2222-4333-8444-555555555555'
const nowhere = createStore(() => null as never)

/** A document's cookie: a cookie that is set is added by its name. `written` has the texts with their attributes. */
function createPage(cookies = '') {
  const kept = new Map<string, string>(
    cookies.split('; ').flatMap((text) => (text ? [text.split(/=(.*)/)] : []) as never),
  )
  const written: string[] = []
  return {
    written,
    get cookie() {
      return [...kept].map((pair) => pair.join('=')).join('; ')
    },
    set cookie(text: string) {
      written.push(text)
      const [pair = ''] = text.split(';')
      const [name = '', value = ''] = pair.split(/=(.*)/)
      kept.set(name, value)
    },
  }
}

const sandboxed = {
  get cookie(): string {
    throw new DOMException('denied', 'SecurityError')
  },
  set cookie(_: string) {
    throw new DOMException('denied', 'SecurityError')
  },
}

test('the id is made once, stored, and read by the next page and by another tab', () => {
  const storage = createMemoryStorage()
  const store = createStore(() => storage)
  const page = createPage()
  const did = createDeviceId(store, () => page).get()
  expect(did).toMatch(UUID4)
  expect(storage.getItem('track.did')).toBe(did)
  expect(Object.keys(storage)).toEqual(['track.did'])
  expect(page.written).toEqual([])
  expect(createDeviceId(store, () => page).get()).toBe(did)
})

test('no id is made before it is needed', () => {
  const storage = createMemoryStorage()
  createDeviceId(
    createStore(() => storage),
    () => createPage(),
  )
  expect(storage).toHaveLength(0)
})

test.each([
  'undefined',
  'null',
  '[object Object]',
  '',
  '  ',
  '1',
  `${KEPT}x`,
  ` ${KEPT}`,
  `{${KEPT}}`,
  // The mark of an adopted id, without one.
  '=',
  '=  ',
])('an invalid stored id is replaced: %j', (junk) => {
  const storage = createMemoryStorage()
  storage.setItem('track.did', junk)
  const did = createDeviceId(
    createStore(() => storage),
    () => createPage(),
  ).get()
  expect(did).toMatch(UUID4)
  expect(storage.getItem('track.did')).toBe(did)
})

test('an id of an earlier version is kept, whatever its UUID version or case', () => {
  const storage = createMemoryStorage()
  for (const id of [KEPT, KEPT.replace('-4', '-1'), '0189ABCD-2222-7333-8444-555555555555']) {
    storage.setItem('track.did', id)
    expect(
      createDeviceId(
        createStore(() => storage),
        () => createPage(),
      ).get(),
    ).toBe(id)
  }
})

test('without storage the id is in a first-party cookie for the whole site, for 400 days from the last page on', () => {
  const page = createPage('a=1; b=2')
  const did = createDeviceId(nowhere, () => page).get()
  expect(did).toMatch(UUID4)
  expect(page.written).toEqual([`track.did=${did};path=/;max-age=34560000;samesite=lax`])
  expect(createDeviceId(nowhere, () => page).get()).toBe(did)
  expect(page.written).toEqual([page.written[0], page.written[0]])
})

test.each(['track.did=undefined', 'track.did=', `track.didx=${KEPT}`, 'x=track.did'])(
  'an invalid id in the cookie is replaced: %s',
  (cookies) => {
    const page = createPage(cookies)
    const did = createDeviceId(nowhere, () => page).get()
    expect(did).not.toBe(KEPT)
    expect(page.cookie).toContain(`track.did=${did}`)
  },
)

test('the cookie is found among others', () => {
  expect(createDeviceId(nowhere, () => createPage(`a=1; track.did=${KEPT}; z=2`)).get()).toBe(KEPT)
})

test('the cookie is not read if the id is stored', () => {
  const page = createPage('track.did=66666666-2222-4333-8444-555555555555')
  const look = vi.spyOn(page, 'cookie', 'get')
  const storage = createMemoryStorage()
  storage.setItem('track.did', KEPT)
  const store = createStore(() => storage)
  expect(createDeviceId(store, () => page).get()).toBe(KEPT)
  expect(look).not.toHaveBeenCalled()
})

test('storage that works again takes the id over from the cookie', () => {
  const page = createPage(`track.did=${KEPT}`)
  const storage = createMemoryStorage()
  expect(
    createDeviceId(
      createStore(() => storage),
      () => page,
    ).get(),
  ).toBe(KEPT)
  expect(storage.getItem('track.did')).toBe(KEPT)
})

test('an id that was reset does not come back from a cookie', () => {
  const page = createPage(`track.did=${KEPT}`)
  const storage = createMemoryStorage()
  const store = createStore(() => storage)
  const deviceId = createDeviceId(store, () => page)
  expect(deviceId.get()).toBe(KEPT)
  const did = deviceId.reset()
  expect(did).not.toBe(KEPT)
  storage.clear()
  expect(createDeviceId(store, () => page).get()).toBe(did)
})

test('if storage is full, the cookie is used', () => {
  const storage = createMemoryStorage(10)
  const page = createPage()
  const did = createDeviceId(
    createStore(() => storage),
    () => page,
  ).get()
  expect(page.cookie).toBe(`track.did=${did}`)
})

test('if the cookie can not be read, storage is used', () => {
  const storage = createMemoryStorage()
  storage.setItem('track.did', KEPT)
  expect(
    createDeviceId(
      createStore(() => storage),
      () => sandboxed,
    ).get(),
  ).toBe(KEPT)
})

test('neither storage nor cookie: one id for the life of the page', () => {
  const deviceId = createDeviceId(nowhere, () => sandboxed)
  const did = deviceId.get()
  expect(did).toMatch(UUID4)
  expect(deviceId.get()).toBe(did)
  expect(createDeviceId(nowhere, () => sandboxed).get()).not.toBe(did)
})

test('the id stays the same for the life of the page, whatever the shop does to storage', () => {
  const storage = createMemoryStorage()
  const deviceId = createDeviceId(
    createStore(() => storage),
    () => createPage(),
  )
  const did = deviceId.get()
  storage.clear()
  expect(deviceId.get()).toBe(did)
  storage.setItem('track.did', KEPT)
  expect(deviceId.get()).toBe(did)
})

test('after a reset by another tab its id is used, unless it is missing or invalid', () => {
  const storage = createMemoryStorage()
  const store = createStore(() => storage)
  const page = createPage()
  storage.setItem('track.did', KEPT)
  const [mine, other] = [createDeviceId(store, () => page), createDeviceId(store, () => page)]
  expect(mine.get()).toBe(KEPT)
  const next = other.reset()
  mine.read()
  expect(mine.get()).toBe(next)
  for (const junk of ['', 'junk']) {
    storage.setItem('track.did', junk)
    mine.read()
    expect(mine.get()).toBe(next)
  }
  storage.clear()
  mine.read()
  expect(mine.get()).toBe(next)
})

test('read() makes no id', () => {
  const storage = createMemoryStorage()
  const store = createStore(() => storage)
  createDeviceId(store, () => createPage()).read()
  createDeviceId(store, () => sandboxed).read()
  expect(storage).toHaveLength(0)
})

test('reset makes and stores another id', () => {
  const storage = createMemoryStorage()
  const store = createStore(() => storage)
  const deviceId = createDeviceId(store, () => createPage())
  const did = deviceId.get()
  const next = deviceId.reset()
  expect(next).toMatch(UUID4)
  expect(next).not.toBe(did)
  expect(deviceId.get()).toBe(next)
  expect(createDeviceId(store, () => createPage()).get()).toBe(next)
})

/** As the gateway serves `adoptDid`. */
const FROM_COOKIE = ['(?:^|; )old=([\\w.-]{8,64})(?=;|$)'] as const
const FROM_STORAGE = ['^([\\w.-]{8,64})$', 'old.id'] as const
const ADOPTED = 'old_visitor.42'

test.each([KEPT, ADOPTED])('the id of another script is taken over and kept: %s', (id) => {
  const storage = createMemoryStorage()
  const store = createStore(() => storage)
  const page = createPage(`a=1; old=${id}; z=2`)
  expect(createDeviceId(store, () => page, FROM_COOKIE).get()).toBe(id)
  expect(page.written).toEqual([])
  // Later the other cookie has gone, and the setting too.
  for (const adopt of [FROM_COOKIE, undefined])
    expect(createDeviceId(store, () => createPage(), adopt).get()).toBe(id)
})

test('an adopted UUID is stored as it is, any other adopted id with a mark', () => {
  for (const [id, stored] of [
    [KEPT, KEPT],
    [ADOPTED, `=${ADOPTED}`],
  ]) {
    const storage = createMemoryStorage()
    createDeviceId(
      createStore(() => storage),
      () => createPage(`old=${id}`),
      FROM_COOKIE,
    ).get()
    expect(Object.keys(storage)).toEqual(['track.did'])
    expect(storage.getItem('track.did')).toBe(stored)
  }
})

test('an id is taken over from localStorage', () => {
  const storage = createMemoryStorage()
  storage.setItem('old.id', ADOPTED)
  const store = createStore(() => storage)
  expect(createDeviceId(store, () => createPage(), FROM_STORAGE).get()).toBe(ADOPTED)
  storage.removeItem('old.id')
  expect(createDeviceId(store, () => createPage(), FROM_STORAGE).get()).toBe(ADOPTED)
})

test('an adopted id is kept in the cookie if storage fails', () => {
  const page = createPage(`old=${ADOPTED}`)
  expect(createDeviceId(nowhere, () => page, FROM_COOKIE).get()).toBe(ADOPTED)
  expect(page.cookie).toContain(`track.did==${ADOPTED}`)
  expect(createDeviceId(nowhere, () => page).get()).toBe(ADOPTED)
})

test('another tab takes over an adopted id', () => {
  const storage = createMemoryStorage()
  const store = createStore(() => storage)
  const mine = createDeviceId(store, () => createPage())
  mine.get()
  storage.setItem('track.did', `=${ADOPTED}`)
  mine.read()
  expect(mine.get()).toBe(ADOPTED)
})

test('a visitor with an id keeps it', () => {
  const adopting = () => createPage(`old=${ADOPTED}`)
  const storage = createMemoryStorage()
  storage.setItem('track.did', KEPT)
  const store = createStore(() => storage)
  expect(createDeviceId(store, adopting, FROM_COOKIE).get()).toBe(KEPT)
  const page = createPage(`old=${ADOPTED}; track.did=${KEPT}`)
  expect(createDeviceId(nowhere, () => page, FROM_COOKIE).get()).toBe(KEPT)
})

test('an adopted id that was reset does not come back while the other cookie is there', () => {
  const storage = createMemoryStorage()
  for (const store of [createStore(() => storage), nowhere]) {
    const page = createPage(`old=${ADOPTED}`)
    const deviceId = createDeviceId(store, () => page, FROM_COOKIE)
    expect(deviceId.get()).toBe(ADOPTED)
    const did = deviceId.reset()
    expect(did).toMatch(UUID4)
    expect(deviceId.get()).toBe(did)
    expect(createDeviceId(store, () => page, FROM_COOKIE).get()).toBe(did)
  }
})

test.each(['undefined', 'null', 'NaN', '  ', ADOPTED, ` =${ADOPTED}`, '[object Object]'])(
  'a stored text without the mark is junk, or else the other id is adopted: %j',
  (junk) => {
    const storage = createMemoryStorage()
    const store = createStore(() => storage)
    storage.setItem('track.did', junk)
    expect(createDeviceId(store, () => createPage(), FROM_COOKIE).get()).toMatch(UUID4)
    storage.setItem('track.did', junk)
    expect(createDeviceId(store, () => createPage(`old=${KEPT}`), FROM_COOKIE).get()).toBe(KEPT)
  },
)

test.each([undefined, false, 'true', 'false', '', [] as never, ['('], ['x']] as const)(
  'without a place that can be read a new id is made: %j',
  (adopt) => {
    const page = createPage(`true=1; x=abcdefgh; undefined=abcdefgh`)
    const storage = createMemoryStorage()
    const store = createStore(() => storage)
    expect(createDeviceId(store, () => page, adopt).get()).toMatch(UUID4)
    expect(createDeviceId(store, () => sandboxed, adopt).get()).toMatch(UUID4)
  },
)

test('other cookies are no ids', () => {
  // A cookie without a name has no equals sign.
  for (const cookie of ['x; a==b; ~c=d', `e=${KEPT}`, `e=1; f==${ADOPTED}`, `e=${KEPT}=`]) {
    const did = createDeviceId(nowhere, () => ({ cookie })).get()
    expect(did).toMatch(UUID4)
    expect(did).not.toBe(KEPT)
  }
})

test('a deleted id is neither in storage nor in the cookie, and the next one is new', () => {
  for (const storage of [createMemoryStorage(), createMemoryStorage(0)]) {
    const store = createStore(() => storage)
    const page = createPage(`old=${ADOPTED}`)
    const deviceId = createDeviceId(store, () => page, FROM_COOKIE)
    expect(deviceId.get()).toBe(ADOPTED)
    deviceId.reset(0)
    expect(storage.getItem('track.did')).toBeNull()
    expect(page.written.at(-1)).toBe('track.did=0;path=/;max-age=0;samesite=lax')
    expect(deviceId.get()).toMatch(UUID4)
  }
})

test('a deletion of an id that this page has not used yet counts too', () => {
  const storage = createMemoryStorage()
  storage.setItem('track.did', KEPT)
  const store = createStore(() => storage)
  const deviceId = createDeviceId(store, () => createPage(`old=${ADOPTED}`), FROM_COOKIE)
  deviceId.reset(0)
  expect(storage).toHaveLength(0)
  expect(deviceId.get()).toMatch(UUID4)
})

test('a deletion while nothing may be read does not keep an id from being adopted later', () => {
  let isOpen = false
  const storage = createMemoryStorage()
  const page = createPage(`old=${ADOPTED}`)
  const store = createStore(() => (isOpen && storage) as Storage)
  const deviceId = createDeviceId(store, () => (isOpen && page) as typeof page, FROM_COOKIE)
  deviceId.reset(0)
  expect(page.written).toEqual([])
  isOpen = true
  expect(deviceId.get()).toBe(ADOPTED)
})
