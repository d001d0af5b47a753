import sodium from 'sodium-native'
import { createSodiumEngine, type Engine, NODE_ENGINE } from '../src/node/engine.ts'

/** Both engines, whichever one a process would choose on this machine. */
export const engines: Engine[] = [createSodiumEngine(sodium), NODE_ENGINE]
