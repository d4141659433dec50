/** Copies a call as curl, as a `tendon` command or as an MCP message. */
import { useState } from "react";
import type { Arguments } from "../api/calls.ts";
import { useSession } from "../api/session.tsx";
import { useI18n } from "../i18n/i18n.tsx";
import { IconButton } from "./button.tsx";
import { CodeBlock, copyText } from "./copy.tsx";
import { Dialog } from "./dialog.tsx";
import { Menu, MenuItem, MenuLabel } from "./menu.tsx";
import { useMoment } from "./time.tsx";

export interface Copied {
  readonly device: string;
  readonly tool: string;
  readonly agentName?: string | undefined;
  readonly args: Arguments;
}

export function asCurl({ device, tool, args }: Copied, url: string): string {
  return [
    `curl -X POST ${url}/api/v1/devices/${encodeURIComponent(device)}/tools/${encodeURIComponent(tool)}/call`,
    `-H "Authorization: Bearer $TENDON_TOKEN"`,
    `-H "Content-Type: application/json"`,
    `-d ${quoted(JSON.stringify({ arguments: args }))}`,
  ].join(" \\\n  ");
}

export function asCommand({ device, tool, args }: Copied, command: string): string {
  const given = Object.keys(args).length === 0 ? "" : ` --args ${quoted(JSON.stringify(args))}`;
  return `${command} call ${device} ${tool}${given}`;
}

export function asMcp({ tool, agentName, args }: Copied): string {
  const params = { name: agentName ?? tool, arguments: args };
  return JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }, null, 2);
}

/** Quotes text for a shell with single quotes. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

export function CopyAs({ call }: { readonly call: Copied }) {
  const { t } = useI18n();
  const { gateway } = useSession();
  const [copied, said] = useMoment();
  const [notCopied, setNotCopied] = useState("");
  const copy = async (text: string) => {
    if (await copyText(text)) said();
    else setNotCopied(text);
  };
  return (
    <>
      <Menu
        trigger={
          <IconButton icon={copied ? "check" : "copy"} label={copied ? t("action.copied") : t("copy.as")} />
        }
      >
        <MenuLabel>{t("copy.as")}</MenuLabel>
        <MenuItem onSelect={() => void copy(asCurl(call, gateway.url))}>curl</MenuItem>
        <MenuItem onSelect={() => void copy(asCommand(call, gateway.command))}>{t("copy.command")}</MenuItem>
        <MenuItem onSelect={() => void copy(asMcp(call))}>MCP</MenuItem>
      </Menu>
      <Dialog open={notCopied !== ""} onClose={() => setNotCopied("")} wide title={t("copy.as")}>
        <div className="overflow-y-auto p-5">
          <CodeBlock text={notCopied} label={t("copy.as")} notCopied />
        </div>
      </Dialog>
    </>
  );
}
