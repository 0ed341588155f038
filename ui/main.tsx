// The admin page: starts it in the browser.
import { render } from 'preact'
import { AdminPage } from './app.tsx'

const place = document.getElementById('page')
if (place) render(<AdminPage />, place)
