import './styles/main.css'
import { render } from 'preact'
import { App } from './app/app.tsx'
import { loadLater } from './app/later.tsx'
import { followAttention } from './state/attention.ts'
import { followAddress } from './state/route.ts'
import { followVault } from './state/session.ts'

const root = document.getElementById('app')
if (root === null) throw new Error('the page has no element for the console')
followAddress()
followVault()
followAttention()
render(<App />, root)
void loadLater()
