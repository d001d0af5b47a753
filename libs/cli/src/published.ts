#!/usr/bin/env node
// svc as it is published: without the operator's commands, which need the NATS client.
import { runProcess } from './run-process.ts'

await runProcess()
