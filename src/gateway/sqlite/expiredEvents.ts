import type { ExpiredEvents } from '../collect/expiredEvents.ts'
import type { Call } from './remote.ts'
import type { TrimPlace } from './removal.ts'
import type { Store } from './store.ts'

/** How often `tidy` tries to empty the -wal while another connection reads. */
const MAX_TRIES = 100

/** Expired events of the SQLite log, removed by the thread that writes it. */
export function createSqliteExpiredEvents(call: Call<Store>): ExpiredEvents {
  let step: 'trim' | 'release' | 'clear' = 'trim'
  let place: TrimPlace | undefined
  let tries = 0

  return {
    time: (now) => call('sweepTime', now),
    find: (customer, before, now, after) => call('findExpired', customer, before, now, after),
    remove: (customer, upTo) => call('removeExpired', customer, upTo),
    async tidy() {
      if (step === 'trim') {
        place = await call('trim', place)
        if (!place) step = 'release'
        return true
      }
      if (step === 'release') {
        if (!(await call('release'))) step = 'clear'
        return true
      }
      tries++
      if (!(await call('clearWal')) && tries < MAX_TRIES) return true
      tries = 0
      step = 'trim'
      return false
    },
  }
}
