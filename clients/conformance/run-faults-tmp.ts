import { AdapterDriver } from './src/client/driver.ts'
import { runCase } from './src/client/run-case.ts'
import { allCases } from './src/client/suite.ts'
import { FAULTS } from './test/client-faults.ts'
const only = new RegExp(process.argv[2] ?? '')
const cases = new Map(allCases().map((one) => [one.id, one]))
const queue = Object.entries(FAULTS).flatMap(([fault, ids]) => ids.map((id) => ({ fault, id }))).filter(x => only.test(x.fault))
await Promise.all(Array.from({ length: 3 }, async () => {
  await using driver = new AdapterDriver([process.execPath, 'clients/conformance/test/client-with-faults.ts'])
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const { fault, id } = next
    const d = { request: (o: string, a: object, s?: number) => driver.request(o, o === 'start' ? { ...a, fault } : a, s), stop: () => driver.stop() }
    const r = await runCase(cases.get(id)!, d)
    console.log(r.status, '|', fault, '|', id, '|', r.milliseconds, '|', r.reason?.slice(0, 300))
  }
}))
