// The one-time link with which a user sets a password.
import { useState } from 'preact/hooks'
import { call } from '../lib/api.ts'
import type { PasswordLinkAnswer } from '../lib/types.ts'
import { ConfirmButton, Dialog } from '../parts/dialog.tsx'
import { Copy, Time } from '../parts/text.tsx'

/** A button that makes a link for the user at a path of the admin API, and shows it once. */
export function PasswordLinkButton({ path, name }: { path: string; name: string }) {
  const [made, setMade] = useState<PasswordLinkAnswer>()
  const close = () => setMade(undefined)
  return (
    <>
      <ConfirmButton
        operation="user.passwordLink"
        label="Password link"
        verb="Make a link"
        harmless
        title={`Make a password link for ${name}?`}
        run={async () => setMade(await call<PasswordLinkAnswer>('POST', `${path}/password-link`))}
      >
        With the link the user sets a new password, once, within 24 hours. Earlier links of the user end now. The
        current password and the sign-ins end when the user sets the new one.
      </ConfirmButton>
      {made && (
        <Dialog title="The password link" onClose={close}>
          <p class="note warn">
            The link is shown only now. Any person who has it can set the password: send it to the user over a private
            channel.
          </p>
          <div class="field">
            <span class="soft">Link</span>
            <Copy text={made.url} what="link" />
          </div>
          <div class="field">
            <span class="soft">Expires</span>
            <Time at={made.expires_at} />
          </div>
          <div class="form-foot">
            <button type="button" class="primary" onClick={close}>
              I have it
            </button>
          </div>
        </Dialog>
      )}
    </>
  )
}
