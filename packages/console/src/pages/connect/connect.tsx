/** Connects an agent: creates a token, shows the snippet for the client, and shows when the token is used. */

import { useQuery } from "@tanstack/react-query";
import type { NewToken, TokenList } from "@tendon/protocol";
import { useState } from "react";
import { api } from "../../api/client.ts";
import { keys } from "../../api/queries.ts";
import { useSession } from "../../api/session.tsx";
import { useNewToken } from "../../api/tokens.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { PageHeader } from "../../shell/page-header.tsx";
import { Button } from "../../ui/button.tsx";
import { ConnectionLight } from "../../ui/connection-light.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { TextInput } from "../../ui/field.tsx";
import { ProblemNote } from "../../ui/problem.tsx";
import { Panel } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";
import { Ago } from "../../ui/time.tsx";
import { clients } from "./snippets.ts";

const lookEveryMs = 2_000;

export function ConnectPage() {
  const { t } = useI18n();
  const { gateway, may } = useSession();
  const [made, setMade] = useState<NewToken>();
  const token = made?.token ?? "YOUR_TOKEN";
  return (
    <>
      <PageHeader title={t("connect.title")} lead={t("connect.lead")} />
      <ol className="grid grid-cols-1 gap-5">
        <li>
          <Panel title={t("connect.step1")}>
            <div className="px-4 pt-1 pb-4">
              {may("admin") ? (
                <TokenMaker made={made} onMade={setMade} />
              ) : (
                <p className="text-soft">{t("connect.noAdmin")}</p>
              )}
            </div>
          </Panel>
        </li>
        <li className="grid grid-cols-1 gap-2">
          <h2 className="px-1 text-base font-semibold">{t("connect.step2")}</h2>
          <Tabs
            label={t("connect.clients")}
            tabs={clients.map(({ id, name, where, snippet }) => ({
              id,
              title: name,
              content: (
                <div className="grid grid-cols-1 gap-2 p-4">
                  <p className="text-sm text-soft">{t(where)}</p>
                  <CodeBlock text={snippet({ url: gateway.url, token })} label={name} />
                </div>
              ),
            }))}
          />
        </li>
        <li>
          <Panel title={t("connect.step3")}>
            <div className="px-4 pt-1 pb-4">
              {made === undefined ? (
                <p className="text-soft">{t("connect.noToken")}</p>
              ) : (
                <Light token={made} />
              )}
            </div>
          </Panel>
        </li>
      </ol>
    </>
  );
}

function TokenMaker({
  made,
  onMade,
}: {
  readonly made: NewToken | undefined;
  readonly onMade: (token: NewToken) => void;
}) {
  const { t } = useI18n();
  const { name, rename, isNamed, creation, create } = useNewToken("my-agent", ["read", "call"]);
  return (
    <div className="grid grid-cols-1 gap-3">
      <p className="text-soft">{t("connect.tokenLead")}</p>
      <form
        className="flex flex-wrap gap-2"
        onSubmit={(event) => {
          event.preventDefault();
          create(onMade);
        }}
      >
        <TextInput
          aria-label={t("connect.tokenName")}
          required
          maxLength={64}
          value={name}
          onChange={({ target }) => rename(target.value)}
          className="max-w-56"
        />
        <Button
          type="submit"
          look={made === undefined ? "primary" : "plain"}
          icon="key"
          disabled={creation.isPending || !isNamed}
        >
          {t(made === undefined ? "connect.make" : "connect.makeAnother")}
        </Button>
      </form>
      {creation.isError && <ProblemNote error={creation.error} />}
      {made !== undefined && (
        <>
          <CodeBlock text={made.token} label={t("connect.token")} />
          <p className="text-sm text-warn">{t("connect.once")}</p>
        </>
      )}
    </div>
  );
}

/** Shows whether and when the token was last used. */
function Light({ token }: { readonly token: NewToken }) {
  const { t } = useI18n();
  const { data } = useQuery({
    queryKey: keys.tokens,
    queryFn: ({ signal }) => api<TokenList>("/tokens", { signal }),
    refetchInterval: lookEveryMs,
  });
  const usedAt = data?.tokens.find(({ id }) => id === token.id)?.lastUsedAt ?? null;
  return (
    <ConnectionLight connected={usedAt !== null}>
      {usedAt === null ? (
        t("connect.waiting", { name: token.name })
      ) : (
        <>
          <span className="font-medium text-ok">{t("connect.connected")}</span>{" "}
          <span className="text-soft">
            {t("connect.lastUsed")} <Ago at={usedAt} />
          </span>
        </>
      )}
    </ConnectionLight>
  );
}
