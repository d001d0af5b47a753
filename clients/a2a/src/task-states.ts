import { isDeepStrictEqual } from 'node:util'
import { Message, type StreamResponse, type Task, TaskState } from '@a2a-js/sdk'

const ENDED: readonly (TaskState | undefined)[] = [
  TaskState.TASK_STATE_COMPLETED,
  TaskState.TASK_STATE_FAILED,
  TaskState.TASK_STATE_CANCELED,
  TaskState.TASK_STATE_REJECTED,
]

export function isEnded({ status }: Task): boolean {
  return ENDED.includes(status?.state)
}

export function rejected(task: Task, messageId: string, reason: string): Task {
  const message = Message.fromJSON({ messageId, role: 'ROLE_AGENT', parts: [{ text: reason }] })
  return { ...task, status: { state: TaskState.TASK_STATE_REJECTED, message, timestamp: new Date().toISOString() } }
}

/** The agent's history, with own messages as the local client has sent them. The agent has them under the ids of their turns. */
export function historyOf(
  turns: Record<string, { readonly messageId: string }>,
  before: Task,
  after: Pick<Task, 'history'>,
): Message[] {
  if (after.history.length === 0) return before.history
  const own = new Map(Object.entries(turns).map(([id, { messageId }]) => [messageId, id]))
  const ours = before.history.filter(({ messageId }) => own.has(messageId))
  const said = after.history.map((one) => ours.find(({ messageId }) => own.get(messageId) === one.messageId) ?? one)
  return [...ours.filter((one) => !said.includes(one)), ...said]
}

/** The updates that turn a client's copy of the earlier task into the later one. */
export function changesBetween(before: Task, after: Task): StreamResponse[] {
  const { id: taskId, contextId, status } = after
  const artifacts = after.artifacts.flatMap((artifact): StreamResponse[] => {
    const known = before.artifacts.find(({ artifactId }) => artifactId === artifact.artifactId)
    if (isDeepStrictEqual(known, artifact)) return []
    const append = known !== undefined && isDeepStrictEqual(known.parts, artifact.parts.slice(0, known.parts.length))
    const parts = append ? artifact.parts.slice(known.parts.length) : artifact.parts
    const own = { taskId, contextId, metadata: undefined }
    const update = { ...own, artifact: { ...artifact, parts }, append, lastChunk: isEnded(after) }
    return [{ payload: { $case: 'artifactUpdate', value: update } }]
  })
  if (isDeepStrictEqual(before.status, status)) return artifacts
  const update = { taskId, contextId, status, metadata: undefined }
  return [...artifacts, { payload: { $case: 'statusUpdate', value: update } }]
}
