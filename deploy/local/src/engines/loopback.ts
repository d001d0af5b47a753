import { networkInterfaces } from 'node:os'

const addresses = Object.values(networkInterfaces()).flatMap((ones = []) => ones.map(({ address }) => address))

/** The address on which the processes of one machine find each other: `::1` on a machine that has no IPv4. */
export const LOOPBACK: string = addresses.includes('::1') && !addresses.includes('127.0.0.1') ? '::1' : '127.0.0.1'
