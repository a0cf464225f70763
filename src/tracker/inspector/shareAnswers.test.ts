import { expect, test } from 'vitest'
import { shareAnswers } from './shareAnswers.ts'

test('each address is requested once, and every caller reads the whole answer', async () => {
  const asked: string[] = []
  const get = shareAnswers(async (address) => {
    asked.push(`${address}`)
    return new Response(`body of ${address}`)
  })
  const answers = await Promise.all([get('/a'), get('/a'), get('/b')])
  expect(await Promise.all(answers.map((answer) => answer.text()))).toEqual([
    'body of /a',
    'body of /a',
    'body of /b',
  ])
  expect(asked).toEqual(['/a', '/b'])
})
