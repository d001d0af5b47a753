#!/usr/bin/env node
// svc as it is published: without the operator's commands, which need the NATS client. The rest is imported only if this Node
// is new enough. An older one would fail with a SyntaxError while it links the modules.
import { complaintAbout } from './node-version.ts'

const complaint = complaintAbout(process.versions.node)
if (complaint === undefined) void import('./run-process.ts').then(({ runProcess }) => runProcess())
else {
  console.error(`svc: ${complaint}`)
  process.exitCode = 2
}
