/** Breaks a text into lines of at most `max` characters. A longer word has a line of its own. */
export const wrap = (text: string, max: number): readonly string[] =>
  text.match(new RegExp(`.{1,${max}}(?= |$)|\\S+`, 'g'))?.map((line) => line.trim()) ?? []
