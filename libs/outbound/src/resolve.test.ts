import { describe, expect, test } from 'vitest'
import { findAddresses } from './resolve.ts'
import { IPV4_SPECIAL_PURPOSE, IPV6_SPECIAL_PURPOSE } from './special-purpose.ts'

const PUBLIC = ['8.8.8.8', '2606:4700:4700::1111']

function target(host: string): { host: string; exempt: boolean } {
  return { host, exempt: false }
}

function answering(...addresses: string[]): () => Promise<string[]> {
  return async () => addresses
}

describe('spec 10.3, 10.6: every address of a name is checked', () => {
  const notPublic = [...IPV4_SPECIAL_PURPOSE, ...IPV6_SPECIAL_PURPOSE]
    .filter(([, reachable]) => !reachable)
    .map(([block]) => block.split('/')[0] ?? '')

  test.each([...notPublic, '::127.0.0.1', '64:ff9b::169.254.169.254', '2002:a00:1::', 'ff02::1'])(
    'a name with the address %s, alone or among public addresses, is refused',
    async (address) => {
      for (const addresses of [[address], [address, ...PUBLIC], [...PUBLIC, address]]) {
        await expect(findAddresses(target('hook.example'), answering(...addresses))).rejects.toThrow('not public')
      }
    },
  )

  test('connections go to the public addresses of a name, and to no others', async () => {
    expect(await findAddresses(target('hook.example'), answering(...PUBLIC))).toEqual(PUBLIC)
  })

  test('a literal address is checked as it is, without a lookup', async () => {
    const nobody = (): never => {
      throw new Error('asked')
    }
    expect(await findAddresses(target('8.8.8.8'), nobody)).toEqual(['8.8.8.8'])
    await expect(findAddresses(target('10.0.0.1'), nobody)).rejects.toThrow('not public')
    await expect(findAddresses(target('fd00:ec2::254'), nobody)).rejects.toThrow('not public')
  })

  test('a name without an address, or without an answer, is an error', async () => {
    await expect(findAddresses(target('hook.example'), answering())).rejects.toThrow('no address')
    const away = async (): Promise<string[]> => {
      throw new Error('SERVFAIL')
    }
    await expect(findAddresses(target('hook.example'), away)).rejects.toThrow('SERVFAIL')
  })

  test('a name may have any number of addresses, but only a few are tried', async () => {
    const many = Array.from({ length: 1_000 }, (_, at) => `8.8.${at >> 8}.${at & 255}`)
    expect((await findAddresses(target('hook.example'), answering(...many))).length).toBeLessThanOrEqual(8)
    await expect(findAddresses(target('hook.example'), answering(...many, '127.0.0.1'))).rejects.toThrow('not public')
  })

  test('a name that changes its answer is resolved once per attempt, and that answer counts', async () => {
    const answers = [PUBLIC, ['127.0.0.1']]
    let asked = 0
    const rebinding = async (): Promise<string[]> => {
      asked += 1
      return answers.shift() ?? ['127.0.0.1']
    }
    expect(await findAddresses(target('hook.example'), rebinding)).toEqual(PUBLIC)
    expect(asked).toBe(1)
    await expect(findAddresses(target('hook.example'), rebinding)).rejects.toThrow('not public')
  })
})

test('an exempt target is looked up by the system, with its hosts file', async () => {
  const addresses = await findAddresses({ host: 'localhost', exempt: true }, answering())
  expect(addresses.every((address) => ['127.0.0.1', '::1'].includes(address))).toBe(true)
})
