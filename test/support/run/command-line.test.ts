import { expect, test } from 'vitest'
import { commandOf, type Parsed, parseWith } from './command-line.ts'

const LINE = {
  command: 'npx pnpm something',
  does: 'Does something.',
  options: {
    minutes: { kind: 'number', default: 5, what: 'how long' },
    'round-seconds': { kind: 'number', whole: true, min: 1, what: 'of each' },
    faults: { kind: 'list', of: ['kill', 'pause'], what: 'kinds' },
    from: { kind: 'text', placeholder: 'revision', what: 'the old code' },
    check: { kind: 'flag', what: 'only looks' },
  },
  names: { of: ['send', 'reads'], what: 'which' },
} as const

function parse(...args: string[]): Parsed<typeof LINE.options> {
  const command = commandOf(LINE)
    .exitOverride()
    .configureOutput({ writeOut: () => {}, writeErr: () => {} })
  return parseWith(command, LINE, args)
}

test('a command line without arguments has the defaults', () => {
  expect(parse()).toEqual({
    values: { minutes: 5, 'round-seconds': undefined, faults: undefined, from: undefined, check: false },
    names: [],
  })
})

test('every kind of option is read', () => {
  expect(
    parse('reads', '--minutes', '0.5', '--round-seconds=7', '--faults', 'kill,pause', '--from', 'HEAD~1', '--check'),
  ).toEqual({
    values: { minutes: 0.5, 'round-seconds': 7, faults: ['kill', 'pause'], from: 'HEAD~1', check: true },
    names: ['reads'],
  })
})

test.each([['--help'], ['-h'], ['reads', '--help']])('%s prints the help', (...args) => {
  expect(() => parse(...args)).toThrow(expect.objectContaining({ exitCode: 0 }))
})

test.each([
  [['--what'], "unknown option '--what'"],
  [['--minutes'], "option '--minutes <n>' argument missing"],
  [['--minutes', 'long'], 'It is a number from 0.'],
  [['--minutes', ''], 'It is a number from 0.'],
  [['--minutes=-1'], 'It is a number from 0.'],
  [['--round-seconds', '1.5'], 'It is a whole number from 1.'],
  [['--faults', 'kill,flood'], "'flood' is not one of kill, pause."],
  [['writes'], 'Allowed choices are send, reads.'],
  [['reads', 'send'], 'too many arguments'],
])('%s is an error of one line', (args, problem) => {
  expect(() => parse(...args)).toThrow(
    expect.objectContaining({ exitCode: 1, message: expect.stringContaining(problem) }),
  )
})
