/** Bytes of a text in UTF-8, as a request carries it. */
export const byteLength = (text: string): number => new Blob([text]).size
