import { expect, test } from 'vitest'
import { nscCommands, operatorLines, readPermissions } from './nsc-commands.ts'

const TABLE = `
MAY_GATEWAY: {
  publish: [
    "svc.>", "_INBOX_admin.gateway.>"
    # "svc.nothing"
  ]
  subscribe: ["$SRV.>"]
}
`

test('each user gets the permissions of the table, as a JWT and as a command of nsc', () => {
  const permissions = readPermissions(TABLE)
  expect([...permissions]).toEqual([
    ['gateway', { pub: { allow: ['svc.>', '_INBOX_admin.gateway.>'] }, sub: { allow: ['$SRV.>'] } }],
  ])
  expect(nscCommands(permissions)).toEqual([
    "nsc add user --account SVC --name gateway --allow-pub 'svc.>,_INBOX_admin.gateway.>' --allow-sub '$SRV.>'",
  ])
})

test('a user with an empty subscribe list is refused, because an empty list in a JWT allows everything', () => {
  expect(() => readPermissions(TABLE.replace('"$SRV.>"', ''))).toThrow('gateway has an empty list')
})

test('no subject of the real table needs its own quotes', () => {
  for (const { pub, sub } of readPermissions().values())
    for (const subject of [...pub.allow, ...sub.allow]) expect(subject).toMatch(/^[\w$.>*-]+$/)
})

test('a new operator gets the permissions of admin, under its own name', () => {
  const text = operatorLines('ann').join('\n')
  expect(text).toContain(
    '{ user: ann, password: "<output of nats server passwd>", permissions: { publish: ["admin.*.*.ann"',
  )
  expect(text).toContain('subscribe: ["_INBOX_admin.*.ann.>"]')
  expect(text).toContain("--name ann --allow-pub 'admin.*.*.ann,")
  expect(text).not.toMatch(/\.admin\b/)
})

test.each(['gateway', 'admin', 'ann.admin', 'ann_b', '*', '>', '', 'a b'])(
  '%j cannot be the name of an operator',
  (name) => {
    expect(() => operatorLines(name)).toThrow("cannot be an operator's name")
  },
)
