import type { JSX } from 'preact'
import { areShortcutsOn, SHORTCUTS, shortcuts } from '../state/shortcuts.ts'
import { strings } from '../strings.ts'
import { Dialog } from '../views/parts/dialog.tsx'
import { Switch } from '../views/parts/field.tsx'
import { useWorkspace } from '../views/workspace-context.ts'

/** Lists the keys that work on this page, and turns them off for people whom single keys disturb. */
export function ShortcutsDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const { preferences } = useWorkspace().context.store
  const byKeys = new Map(shortcuts.value.map(({ keys, label }) => [keys, label]))
  return (
    <Dialog title={strings.shortcuts.title} onClose={onClose}>
      <dl class="shortcuts">
        {[...byKeys, ...strings.shortcuts.always].map(([keys, label]) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{label}</dd>
          </div>
        ))}
      </dl>
      <Switch
        label={strings.shortcuts.single}
        hint={strings.shortcuts.singleHint}
        isOn={areShortcutsOn.value}
        onChange={(isOn) => {
          areShortcutsOn.value = isOn
          void preferences.put(SHORTCUTS, isOn).catch(() => undefined)
        }}
      />
    </Dialog>
  )
}
