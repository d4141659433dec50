/** A program that connects to the gateway's MCP endpoint: its address, shown once, and whether it has connected. */
import type { EndpointList, NewToken } from "@tendon/protocol";
import { useEffect, useRef, useState } from "react";
import { useAliases } from "../../api/aliases.ts";
import { endpointSetting, useEndpoints } from "../../api/endpoints.ts";
import { useSession } from "../../api/session.tsx";
import { useNewToken } from "../../api/tokens.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { AddedDevices } from "../../ui/connection-light.tsx";
import { CodeBlock } from "../../ui/copy.tsx";
import { TextField } from "../../ui/field.tsx";
import { GuideLink } from "../../ui/guide-link.tsx";
import { ProblemNote, Warning } from "../../ui/problem.tsx";
import { RequestForm } from "../../ui/request-form.tsx";
import { Skeleton } from "../../ui/states.tsx";
import { Tabs } from "../../ui/tabs.tsx";

interface StepsProps {
  readonly onAdded: (device: string) => void;
}

interface MadeProps extends StepsProps {
  readonly token: NewToken;
  readonly incoming: EndpointList["incoming"] | undefined;
}

export function ProviderSteps({ onAdded }: StepsProps) {
  const { t } = useI18n();
  const { data, error } = useEndpoints();
  const [token, setToken] = useState<NewToken>();
  return (
    <div className="flex flex-col items-start gap-4">
      <p>{t("add.providerWhat")}</p>
      {token !== undefined ? (
        <ProviderAddress token={token} incoming={data?.incoming} onAdded={onAdded} />
      ) : data === undefined ? (
        error === null ? (
          <Skeleton className="h-16 w-full" />
        ) : (
          <ProblemNote error={error} />
        )
      ) : data.incoming.enabled ? (
        <AddressForm onMade={setToken} />
      ) : (
        <EndpointOff />
      )}
      <GuideLink guide="voice-agents">{t("action.guide")}</GuideLink>
    </div>
  );
}

/** Gone as soon as the gateway has restarted with the setting. */
function EndpointOff() {
  const { t } = useI18n();
  return (
    <div className="flex w-full flex-col gap-3">
      <Warning title={t("add.providerOff")}>
        <p>{t("add.providerOffSteps")}</p>
      </Warning>
      <CodeBlock text={endpointSetting} label="tendon.yaml" />
    </div>
  );
}

function AddressForm({ onMade }: { readonly onMade: (token: NewToken) => void }) {
  const { t } = useI18n();
  const { name, rename, isNamed, creation, create } = useNewToken("tools", ["read", "call", "endpoint"]);
  return (
    <RequestForm
      request={creation}
      onSubmit={() => create(onMade)}
      action={t("add.providerMake")}
      icon="key"
      ready={isNamed}
    >
      <TextField
        label={t("connect.tokenName")}
        hint={t("add.providerTokenHint")}
        required
        maxLength={64}
        value={name}
        onChange={rename}
      />
    </RequestForm>
  );
}

function ProviderAddress({ token, incoming, onAdded }: MadeProps) {
  const { t } = useI18n();
  const { gateway } = useSession();
  const { otaProblem } = gateway;
  const address = `${gateway.url.replace(/^http/, "ws")}/mcp_endpoint/mcp/?token=${token.token}`;
  // The form that had the focus is gone.
  const region = useRef<HTMLElement>(null);
  useEffect(() => region.current?.focus(), []);
  return (
    <section
      ref={region}
      tabIndex={-1}
      aria-label={t("add.providerAddress")}
      className="flex w-full flex-col gap-3 outline-none"
    >
      <CodeBlock text={address} label={t("add.providerAddress")} />
      <p className="text-sm text-warn">{t("add.providerOnce")}</p>
      {otaProblem !== undefined && otaProblem !== "unreadable" && (
        <p className="text-sm text-soft">
          {t(`endpoints.reach.${otaProblem}`, { host: new URL(gateway.url).hostname })}
        </p>
      )}
      <h3 className="font-medium">{t("add.providerRun")}</h3>
      <Tabs
        label={t("add.providerRun")}
        tabs={commands.map(({ id, title, textOf }) => ({
          id,
          title: title ?? t("add.providerSimulated"),
          content: (
            <div className="p-3">
              <CodeBlock text={textOf(address, gateway.command)} label={t("copy.command")} />
            </div>
          ),
        }))}
      />
      <ConnectedProviders token={token} incoming={incoming} onAdded={onAdded} />
    </section>
  );
}

const pipe = "python mcp_pipe.py calculator.py";
const commands: readonly {
  readonly id: string;
  /** The text of the language if it is missing. */
  readonly title?: string;
  readonly textOf: (address: string, command: string) => string;
}[] = [
  { id: "sh", title: "Linux, macOS", textOf: (address) => `export MCP_ENDPOINT="${address}"\n${pipe}` },
  { id: "powershell", title: "Windows", textOf: (address) => `$env:MCP_ENDPOINT = "${address}"\n${pipe}` },
  { id: "simulated", textOf: (address, command) => `${command} simulate mcp-pipe "${address}"` },
];

/** Waits for the programs that use the token. There may be several. */
function ConnectedProviders({ token, incoming, onAdded }: MadeProps) {
  const { t } = useI18n();
  const aliasOf = useAliases();
  const devices = (incoming?.providers ?? []).flatMap((each) =>
    each.token === token.name ? each.device : [],
  );
  const all = devices.join("\n");
  useEffect(() => {
    for (const device of all.split("\n")) if (device !== "") onAdded(device);
  }, [all, onAdded]);
  return (
    <AddedDevices
      waiting={t("add.providerWaiting")}
      connected={t("add.providerConnected")}
      devices={devices.map((id) => ({ id, alias: aliasOf(id) }))}
    />
  );
}
