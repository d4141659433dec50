/** One field for a token or a code. A link with a code in its fragment signs in automatically. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { SessionEnding, SessionView } from "@tendon/protocol";
import { useEffect, useId, useState } from "react";
import { ApiError, api } from "../api/client.ts";
import { changeSession } from "../api/queries.ts";
import { useI18n } from "../i18n/i18n.tsx";
import { rememberPlace, takePlace } from "../shell/last-place.ts";
import { LanguageMenu, ThemeMenu } from "../shell/preferences.tsx";
import { Button } from "../ui/button.tsx";
import { TextInput } from "../ui/field.tsx";
import { Logo } from "../ui/icon.tsx";
import { Alert, ProblemNote, Warning } from "../ui/problem.tsx";

interface Attempt {
  readonly secret: string;
  readonly by: "hand" | "link";
}

function codeInFragment(): string | undefined {
  return /^#code=([\w-]+)$/.exec(window.location.hash)?.[1];
}

/** What was typed or pasted: a token, a code, or the whole link with its code. */
function attemptOf(typed: string): Attempt {
  const code = /#code=([\w-]+)$/.exec(typed)?.[1];
  return code === undefined ? { secret: typed, by: "hand" } : { secret: code, by: "link" };
}

export function SignInPage({ ended }: { readonly ended: SessionEnding | undefined }) {
  const { t } = useI18n();
  const client = useQueryClient();
  const [secret, setSecret] = useState("");
  const signIn = useMutation({
    mutationFn: ({ secret: text }: Attempt) =>
      api<SessionView>("/session", { method: "POST", body: { secret: text } }),
    onSuccess: (session, { by }) => {
      const place = takePlace();
      if (by === "link" && place !== undefined && window.location.pathname === "/")
        window.history.replaceState(null, "", place);
      changeSession(client, session);
    },
  });
  useEffect(() => {
    if (ended !== undefined) rememberPlace();
  }, [ended]);
  const { mutate } = signIn;
  const note = useId();
  useEffect(() => {
    const takeCode = () => {
      const code = codeInFragment();
      if (code === undefined) return;
      // Remove the code from the address bar and the history, whether it was used or not.
      window.history.replaceState(null, "", `${window.location.pathname}${window.location.search}`);
      mutate({ secret: code, by: "link" });
    };
    takeCode();
    // Pasting a link into this tab changes only the fragment and does not load the page again.
    window.addEventListener("hashchange", takeCode);
    return () => window.removeEventListener("hashchange", takeCode);
  }, [mutate]);
  return (
    <div className="flex min-h-dvh flex-col">
      <div className="flex justify-end gap-1 p-3">
        <LanguageMenu />
        <ThemeMenu />
      </div>
      <main className="mx-auto flex w-full max-w-sm flex-1 flex-col justify-center gap-6 px-6 pb-32">
        <div className="flex flex-col gap-3">
          <Logo size={40} />
          <h1 className="text-2xl font-semibold">{t("signIn.title")}</h1>
          <p className="text-soft">{t("signIn.lead")}</p>
        </div>
        {ended !== undefined && (
          <Warning title={t("signedOut.title")}>
            <p>{t(`signedOut.${ended}`)}</p>
            <p>{t("signedOut.next")}</p>
          </Warning>
        )}
        <form
          className="flex flex-col gap-3"
          onSubmit={(event) => {
            event.preventDefault();
            if (secret.trim() !== "") signIn.mutate(attemptOf(secret.trim()));
          }}
        >
          <label className="flex flex-col gap-1.5">
            <span className="text-sm font-medium">{t("signIn.field")}</span>
            <TextInput
              type="password"
              name="secret"
              autoComplete="current-password"
              autoFocus
              required
              spellCheck={false}
              value={secret}
              aria-invalid={signIn.isError}
              aria-describedby={signIn.isError ? note : undefined}
              onChange={(event) => setSecret(event.target.value)}
              className="h-10"
            />
          </label>
          <Button type="submit" look="primary" className="h-10" disabled={signIn.isPending}>
            {signIn.isPending ? t("signIn.busy") : t("signIn.submit")}
          </Button>
          {signIn.isError && (
            <div id={note}>
              <Refusal error={signIn.error} by={signIn.variables.by} />
            </div>
          )}
        </form>
        <p className="text-sm text-soft">
          {t("signIn.hint")}{" "}
          <code className="rounded bg-raised px-1 py-0.5 font-mono whitespace-nowrap">tendon console</code>
        </p>
      </main>
    </div>
  );
}

/** Explains a failed sign-in in one sentence. The command for a new link is shown below it. */
function Refusal({ error, by }: { readonly error: Error; readonly by: Attempt["by"] }) {
  const { t } = useI18n();
  const code = error instanceof ApiError ? error.code : undefined;
  if (code === "unauthenticated")
    return <Alert>{t(by === "link" ? "signIn.usedLink" : "signIn.wrong")}</Alert>;
  if (code === "rate_limited") return <Alert>{t("signIn.wait")}</Alert>;
  return <ProblemNote error={error} />;
}
