import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { logIn } from "./api.js";
import { Dialog, Failure, Field } from "./ui.js";

/** Over the page, which stays as it is: a session that ended loses no terminal and no unsaved edit. */
export function Login(): JSX.Element {
  const [token, setToken] = useState("");
  const [error, setError] = useState<unknown>();
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    try {
      await logIn(token);
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title="Log in" onClose={() => undefined}>
      <form onSubmit={submit}>
        <p>This server wants a token. An administrator creates one on its host:</p>
        <pre>iii token create --name console</pre>
        <Field label="Token">
          <input type="password" autocomplete="current-password" value={token} onInput={(e) => setToken(e.currentTarget.value)} required />
        </Field>
        <Failure error={error} />
        <footer>
          <button class="primary">Log in</button>
        </footer>
      </form>
    </Dialog>
  );
}
