/** Asks for confirmation before a user-only tool runs, and shows its effect, device and arguments. */
import type { CallCheck, DeviceDetail, Tool } from "@tendon/protocol";
import type { Arguments } from "../../api/calls.ts";
import { type Key, useI18n } from "../../i18n/i18n.tsx";
import { Confirm } from "../../ui/dialog.tsx";
import { JsonView } from "../../ui/json-view.tsx";
import { Warning } from "../../ui/problem.tsx";
import { titleOf } from "../../ui/tool-names.ts";
import { previewOf } from "./description.tsx";

/** Effects of the firmware's user-only tools. */
const effects: Readonly<Record<string, Key>> = {
  "self.reboot": "effect.reboot",
  "self.upgrade_firmware": "effect.upgrade",
  "self.screen.snapshot": "effect.snapshot",
  "self.screen.preview_image": "effect.preview",
  "self.assets.set_download_url": "effect.assets",
  "self.get_system_info": "effect.systemInfo",
  "self.screen.get_info": "effect.screenInfo",
};

export function ConfirmTool(props: {
  readonly device: DeviceDetail;
  readonly tool: Tool;
  /** `undefined` while no confirmation is open. */
  readonly args: Arguments | undefined;
  /** The gateway's decision about the call. */
  readonly check: CallCheck | undefined;
  readonly danger: boolean;
  /** The device is offline: the call waits for it. */
  readonly queued: boolean;
  readonly onClose: () => void;
  readonly onConfirm: (args: Arguments) => void;
}) {
  const { device, tool, args, check, danger, queued, onClose, onConfirm } = props;
  const { t } = useI18n();
  const key = effects[tool.name];
  const effect = key === undefined ? previewOf(tool.description) : t(key as "effect.reboot");
  const title = titleOf(tool.name);
  return (
    <Confirm
      open={args !== undefined}
      onClose={onClose}
      onConfirm={() => onConfirm(args ?? {})}
      title={t("confirm.title", { tool: title, device: device.alias })}
      effect={effect}
      danger={danger}
      action={queued ? t("queue.action") : t("confirm.action", { tool: title })}
    >
      {queued && <p>{t("queue.offer")}</p>}
      {check?.access === "confirm" && (
        <Warning title={t("tools.needsApproval")}>
          <p>
            {t("confirm.approval")} {check.reason}
          </p>
        </Warning>
      )}
      <dl className="grid grid-cols-[auto_minmax(0,1fr)] gap-x-4 gap-y-1 rounded-lg bg-raised p-3 text-sm">
        <dt className="text-soft">{t("confirm.device")}</dt>
        <dd className="break-all">
          {device.alias} ({device.id})
        </dd>
        <dt className="text-soft">{t("confirm.tool")}</dt>
        <dd className="font-mono break-all">{tool.name}</dd>
        <dt className="text-soft">{t("confirm.values")}</dt>
        <dd>{Object.keys(args ?? {}).length === 0 ? t("confirm.noValues") : <JsonView value={args} />}</dd>
      </dl>
    </Confirm>
  );
}
