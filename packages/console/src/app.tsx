import { QueryClient, QueryClientProvider, useQuery, useQueryClient } from "@tanstack/react-query";
import { useCallback, useEffect, useState } from "react";
import { ApiError, onSignedOut } from "./api/client.ts";
import { learnWhySignedOut, sessionQuery } from "./api/queries.ts";
import { SessionProvider } from "./api/session.tsx";
import { type Catalogue, I18nProvider, type LanguageCode, languages, useI18n } from "./i18n/i18n.tsx";
import { LiveProvider } from "./live/live-context.tsx";
import { SignInPage } from "./pages/sign-in.tsx";
import { writeChoice } from "./shell/choices.ts";
import { Shell } from "./shell/shell.tsx";
import { Logo } from "./ui/icon.tsx";
import { ProblemNote } from "./ui/problem.tsx";

const retryMs = 3_000;

interface Chosen {
  readonly code: LanguageCode;
  readonly catalogue: Catalogue;
}

function createClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // Retry only when the gateway did not answer: a rejected request would be rejected again.
        retry: (count, error) => error instanceof ApiError && error.code === "unreachable" && count < 2,
        refetchOnWindowFocus: false,
      },
    },
  });
}

export function App({ firstLanguage }: { readonly firstLanguage: Chosen }) {
  const [client] = useState(createClient);
  const [language, setLanguage] = useState(firstLanguage);
  const choose = useCallback((code: LanguageCode) => {
    writeChoice("language", code);
    void languages[code].load().then((catalogue) => setLanguage({ code, catalogue }));
  }, []);
  useEffect(() => {
    document.documentElement.lang = language.code;
  }, [language.code]);
  return (
    <QueryClientProvider client={client}>
      <I18nProvider code={language.code} catalogue={language.catalogue} choose={choose}>
        <Door />
      </I18nProvider>
    </QueryClientProvider>
  );
}

/** The page is there but the gateway is not, for example while it starts behind a proxy. */
function GatewayAway({ error }: { readonly error: Error }) {
  const { t } = useI18n();
  return (
    <main className="mx-auto flex min-h-dvh max-w-md flex-col justify-center gap-4 px-6 pb-32">
      <Logo size={40} />
      <ProblemNote error={error} />
      <p className="text-sm text-soft">{t("away.retrying")}</p>
    </main>
  );
}

/** Shows the sign-in page or, with a session, the console. */
function Door() {
  const client = useQueryClient();
  const { data, error } = useQuery({
    ...sessionQuery,
    refetchInterval: ({ state }) => (state.data === undefined ? retryMs : false),
  });
  const leave = useCallback(() => void learnWhySignedOut(client), [client]);
  useEffect(() => onSignedOut(leave), [leave]);
  if (data === undefined) return error === null ? null : <GatewayAway error={error} />;
  if (data.principal === null || data.gateway === null) return <SignInPage ended={data.ended} />;
  return (
    <SessionProvider principal={data.principal} gateway={data.gateway}>
      <LiveProvider onSignedOut={leave}>
        <Shell />
      </LiveProvider>
    </SessionProvider>
  );
}
