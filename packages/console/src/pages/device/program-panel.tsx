/** What a device that is not a board is: the program or MCP server behind it, and how it is connected. */
import type { DeviceDetail } from "@tendon/protocol";
import type { ReactNode } from "react";
import { useProvider } from "../../api/endpoints.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Panel } from "../../ui/states.tsx";

export function ProgramPanel({ device }: { readonly device: DeviceDetail }) {
  const { t, n } = useI18n();
  const { kind, board, firmware, protocolVersion, transport, server } = device;
  const provider = useProvider(device);
  const version = firmware ?? "";
  const configured = kind === "process" || server?.configured === true;
  return (
    <Panel title={t("program.title")}>
      <dl className="grid grid-cols-1 gap-x-4 gap-y-3 px-4 pt-1 pb-4 sm:grid-cols-2">
        {board === null ? (
          <Fact name={t("program.version")}>{version}</Fact>
        ) : (
          <Fact name={t("program.server")}>{`${board} ${version}`.trimEnd()}</Fact>
        )}
        <Fact name={t("device.serverAddress")}>{server?.origin}</Fact>
        <Fact name={t("program.protocol")}>{protocolVersion}</Fact>
        <Fact name={t("device.transport")}>{transport}</Fact>
        <Fact name={t("program.source")}>
          {configured ? "tendon.yaml" : server !== undefined && t("program.added")}
        </Fact>
        <Fact name={t("program.token")}>{provider?.token}</Fact>
        {provider !== undefined && provider.ignoredFrames > 0 && (
          <Fact name={t("program.ignored")} wide>
            {n("program.frames", provider.ignoredFrames)}
            <span className="block text-sm text-soft">{t("program.ignoredHint")}</span>
          </Fact>
        )}
        <Fact name={t("program.problem")} wide>
          {typeof server?.problem === "string" && <span className="text-bad">{server.problem}</span>}
        </Fact>
      </dl>
    </Panel>
  );
}

/** Nothing if the value is unknown. */
function Fact(props: { readonly name: string; readonly wide?: boolean; readonly children: ReactNode }) {
  const { name, wide = false, children } = props;
  if (children === undefined || children === null || children === false || children === "") return null;
  return (
    <div className={`min-w-0 ${wide ? "sm:col-span-2" : ""}`}>
      <dt className="text-xs text-soft">{name}</dt>
      <dd className="mt-0.5 break-words">{children}</dd>
    </div>
  );
}
