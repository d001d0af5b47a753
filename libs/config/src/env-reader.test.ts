import { describe, expect, test } from 'vitest'
import { ConfigError, type EnvReader, envReader } from './env-reader.ts'

const readable = () => 'from the file\n'
const unreadable = (): string => {
  throw new Error('no such file')
}

/** The mistakes that a reader reports; undefined if there are none. */
function problemsOf(read: (e: EnvReader) => void, env: NodeJS.ProcessEnv, readFile = readable): string | undefined {
  const e = envReader(env, readFile)
  read(e)
  try {
    e.check()
    return undefined
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError)
    return (error as ConfigError).message
  }
}

test('every mistake is reported at once, by name', () => {
  const read = (e: EnvReader): void => {
    e.string('A')
    e.int('B', { min: 1, max: 9 })
    e.number('C', { min: 0, max: 1 })
    e.secret('D')
  }
  expect(problemsOf(read, { B: '1.5', C: '2' })).toMatch(/A is not set.*B must be a whole.*C must be a.*D is not set/)
})

describe('numbers', () => {
  test.each([
    ['1', true],
    ['9', true],
    ['0', false],
    ['10', false],
    ['1.5', false],
    ['1e0', false],
    ['0x1', false],
    [' 1', false],
    ['-1', false],
  ])('a whole number from 1 to 9: %j %s', (text, good) => {
    expect(problemsOf((e) => e.int('N', { min: 1, max: 9 }), { N: text }) === undefined).toBe(good)
  })

  test('a variable that is set but empty counts as not set', () => {
    const e = envReader({ N: '', T: '', S: '' })
    expect([e.int('N', { default: 7, min: 1, max: 9 }), e.string('T', { default: 'x' }), e.optional('S')]).toEqual([
      7,
      'x',
      undefined,
    ])
  })
})

test('a list is separated by commas; white space and empty parts are ignored', () => {
  expect(envReader({ L: ' a, b,,c ,' }).list('L')).toEqual(['a', 'b', 'c'])
  expect(envReader({}).list('L')).toEqual([])
})

describe('secrets', () => {
  test('the variable itself takes precedence over the file', () => {
    expect(envReader({ S: 'itself', S_FILE: 'path' }, readable).secret('S')).toBe('itself')
  })

  test('a file gives its text without a trailing line feed', () => {
    const read: string[] = []
    const readFile = (path: string): string => {
      read.push(path)
      return 'from the file\n'
    }
    expect(envReader({ S_FILE: 'path' }, readFile).secret('S')).toBe('from the file')
    expect(read).toEqual(['path'])
  })

  test.each([
    ['neither is set', {}, readable, 'S is not set (nor S_FILE)'],
    ['the file cannot be read', { S_FILE: 'path' }, unreadable, 'S_FILE cannot be read: no such file'],
    ['it is too short', { S: 'short' }, readable, 'S must have at least 8 characters'],
  ])('%s: reported once, without the secret', (_, env, readFile, problem) => {
    expect(problemsOf((e) => e.secret('S', { minLength: 8 }), env, readFile)).toBe(`configuration: ${problem}`)
  })
})
