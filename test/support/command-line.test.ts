import { expect, test } from 'vitest'
import { parseCommandLine, UsageError } from './command-line.ts'

const parse = (...args: string[]) =>
  parseCommandLine(
    {
      command: 'npx pnpm something',
      does: 'Does something.',
      options: {
        minutes: { kind: 'number', default: 5, what: 'how long' },
        seed: { kind: 'number', whole: true, min: 1, what: 'what is drawn' },
        faults: { kind: 'list', of: ['kill', 'pause'], what: 'kinds' },
        from: { kind: 'text', placeholder: 'revision', what: 'the old code' },
        check: { kind: 'flag', what: 'only looks' },
      },
      names: { of: ['send', 'reads'], max: 1, what: 'which' },
    },
    args,
  )

test('a command line without anything has its defaults', () => {
  expect(parse()).toEqual({
    values: { minutes: 5, seed: undefined, faults: undefined, from: undefined, check: false },
    names: [],
  })
})

test('every kind of option is read', () => {
  expect(
    parse('reads', '--minutes', '0.5', '--seed=7', '--faults', 'kill,pause', '--from', 'HEAD~1', '--check'),
  ).toEqual({
    values: { minutes: 0.5, seed: 7, faults: ['kill', 'pause'], from: 'HEAD~1', check: true },
    names: ['reads'],
  })
})

test.each([['--help'], ['-h'], ['reads', '--help']])('%s asks for help', (...args) => {
  expect(parse(...args)).toBe('help')
})

test.each([
  [['--what'], "Unknown option '--what'"],
  [['--minutes'], "Option '--minutes <value>' argument missing"],
  [['--minutes', 'long'], "--minutes is a number from 0, not 'long'"],
  [['--minutes', ''], "--minutes is a number from 0, not ''"],
  [['--minutes=-1'], "--minutes is a number from 0, not '-1'"],
  [['--seed', '1.5'], "--seed is a whole number from 1, not '1.5'"],
  [['--faults', 'kill,flood'], "--faults 'flood' is none of kill, pause"],
  [['--check=yes'], "Option '--check' does not take an argument"],
  [['writes'], "the argument 'writes' is none of send, reads"],
  [['reads', 'send'], "'send' is one argument too many"],
])('%s is one line that says what is wrong and what is allowed', (args, problem) => {
  const usage =
    'npx pnpm something [<name>] [--minutes <n>] [--seed <n>] [--faults <a,b,...>] [--from <revision>] [--check]'
  expect(() => parse(...args)).toThrow(new UsageError(`npx pnpm something: ${problem} (usage: ${usage})`))
})
