// The admin page: starts it in the browser.
import { render } from 'preact'
import { App } from './app.tsx'

const place = document.getElementById('page')
if (place) render(<App />, place)
