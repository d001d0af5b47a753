#!/usr/bin/env node
// svc as it is published: without the commands of the operator, which need what talks to NATS.
import { runProcess } from './run-process.ts'

await runProcess()
