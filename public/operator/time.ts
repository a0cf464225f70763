const two = (number: number): string => String(number).padStart(2, '0')

/** `14:03:22` for today, else `26 Nov 14:03`, in the viewer's time zone. */
export function clock(at: number): string {
  const date = new Date(at)
  const time = `${two(date.getHours())}:${two(date.getMinutes())}`
  if (date.toDateString() === new Date().toDateString()) return `${time}:${two(date.getSeconds())}`
  return `${date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })} ${time}`
}

/** `26 Nov 14:03:22.017`, in the viewer's time zone. */
export function exactTime(at: number): string {
  const date = new Date(at)
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' })
  const time = date.toLocaleTimeString('en-GB')
  return `${day} ${time}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

/** `45 s`, `12 m`, `3 h`, `2 d`. */
export function span(ms: number): string {
  const seconds = Math.round(ms / 1000)
  if (seconds < 90) return `${seconds} s`
  if (seconds < 5400) return `${Math.round(seconds / 60)} m`
  return seconds < 129_600 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`
}
