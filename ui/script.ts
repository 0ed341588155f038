// The one script of the pages for users: it shows passwords while they are typed, sends the form that is the response to an application, and
// answers for passkeys. Without it the pages work, but for passkeys.
import {
  browserSupportsWebAuthn,
  browserSupportsWebAuthnAutofill,
  startAuthentication,
  startRegistration,
} from '@simplewebauthn/browser'

/** Before a form is sent its fields are passwords again, so that browsers do not keep them among the texts that were typed. */
function reveal(button: HTMLButtonElement): void {
  const input = button.previousElementSibling as HTMLInputElement
  button.hidden = false
  button.onclick = () => {
    const other = button.dataset['other'] ?? ''
    button.dataset['other'] = button.textContent ?? ''
    button.textContent = other
    input.type = input.type === 'password' ? 'text' : 'password'
  }
  input.form?.addEventListener('submit', () => {
    input.type = 'password'
  })
}

/** A form whose field `passkey` gets the answer of the authenticator. */
function passkey(form: HTMLFormElement): void {
  const optionsJSON = JSON.parse(form.dataset['passkey'] ?? '{}')
  const isSignIn = 'rpId' in optionsJSON
  const answer = form.elements.namedItem('passkey') as HTMLInputElement
  const problem = form.querySelector<HTMLElement>('[role=alert]')
  const send = (response: object) => {
    answer.value = JSON.stringify(response)
    form.submit()
  }
  form.hidden = false
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    if (problem) problem.hidden = true
    const asked = isSignIn ? startAuthentication({ optionsJSON }) : startRegistration({ optionsJSON })
    asked.then(send, () => {
      if (problem) problem.hidden = false
    })
  })
  if (!isSignIn) return
  browserSupportsWebAuthnAutofill().then((can) => {
    // Aborted when the button is used.
    if (can) startAuthentication({ optionsJSON, useBrowserAutofill: true }).then(send, () => {})
  })
}

document.querySelector<HTMLFormElement>('form[data-now]')?.submit()
for (const button of document.querySelectorAll<HTMLButtonElement>('.reveal')) reveal(button)
if (browserSupportsWebAuthn())
  for (const form of document.querySelectorAll<HTMLFormElement>('form[data-passkey]')) passkey(form)
