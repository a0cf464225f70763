/** Built once a currency: a formatter takes longer to build than to use. */
const formats = new Map<string, Intl.NumberFormat | undefined>()
/** A report has one currency and a list of others. */
const MAX_FORMATS = 400

/**
 * An amount as the page writes it: `1234.50` and `EUR` is `€1,234.50`. A text that is no amount, or a code that is no
 * currency, is written as it is.
 *
 * @param amount Decimal text, so that no digit is lost.
 * @param isShort Whether large amounts are shortened for an axis: `€1.2K`.
 */
export function money(amount: string, currency: string, isShort = false): string {
  const format = formatOf(currency, isShort)
  return format && /^-?\d+(\.\d+)?$/.test(amount)
    ? format.format(amount as `${number}`)
    : `${amount} ${currency}`.trim()
}

function formatOf(currency: string, isShort: boolean): Intl.NumberFormat | undefined {
  const key = `${currency}${isShort ? ' short' : ''}`
  if (formats.has(key)) return formats.get(key)
  if (formats.size >= MAX_FORMATS) formats.clear()
  const format = makeFormat(currency, isShort)
  formats.set(key, format)
  return format
}

function makeFormat(currency: string, isShort: boolean): Intl.NumberFormat | undefined {
  try {
    return new Intl.NumberFormat('en-US', {
      style: 'currency',
      currency,
      ...(isShort && { notation: 'compact', minimumFractionDigits: 0, maximumFractionDigits: 1 }),
    })
  } catch {
    // Not three letters.
    return undefined
  }
}
