import { consolePaths, type DeviceDetail } from "@tendon/protocol";
import { useState } from "react";
import { useSession } from "../../api/session.tsx";
import { useI18n } from "../../i18n/i18n.tsx";
import { useIsLive } from "../../live/live-context.tsx";
import { BackLink } from "../../ui/back-link.tsx";
import { Button, IconButton } from "../../ui/button.tsx";
import { kindOf } from "../../ui/device-kind.tsx";
import { Menu, MenuItem } from "../../ui/menu.tsx";
import { PresenceDot, presenceLabel } from "../../ui/presence.tsx";
import { Badge } from "../../ui/states.tsx";
import { Ago, Clock } from "../../ui/time.tsx";
import { ApproveDialog, DeleteDialog, RevokeDialog } from "./device-dialogs.tsx";
import { EditDialog } from "./edit-dialog.tsx";
import { Portrait } from "./portrait.tsx";

type Asking = "edit" | "approve" | "revoke" | "delete" | undefined;

export function DeviceHeader({ device }: { readonly device: DeviceDetail }) {
  const { t } = useI18n();
  const live = useIsLive();
  const { may } = useSession();
  const [asking, setAsking] = useState<Asking>();
  const done = () => setAsking(undefined);
  return (
    <header className="flex flex-wrap items-start justify-between gap-x-6 gap-y-3">
      <div className="min-w-0">
        <BackLink to={consolePaths.fleet}>{t("nav.fleet")}</BackLink>
        <div className="mt-3 flex items-center gap-4">
          <Portrait device={device} live={live} />
          <div className="min-w-0">
            <h1 className="flex flex-wrap items-center gap-x-2.5 gap-y-1 text-2xl font-semibold">
              <span className="min-w-0 break-all">{device.alias}</span>
              {device.approval === "revoked" && <Badge tone="bad">{t("device.revoked")}</Badge>}
              {device.tags.map((tag) => (
                <Badge key={tag}>{tag}</Badge>
              ))}
            </h1>
            <p className="mt-1 flex items-start gap-x-2">
              <span className="flex h-[1lh] items-center">
                <PresenceDot online={device.online} />
              </span>
              <Presence device={device} label={presenceLabel(t, device, live)} />
            </p>
          </div>
        </div>
        <Facts device={device} />
      </div>
      {may("admin") && (
        <div className="flex items-center gap-2">
          <Button icon="pencil" onClick={() => setAsking("edit")}>
            {t("device.edit")}
          </Button>
          {device.kind !== "process" && device.server?.configured !== true && (
            <Menu trigger={<IconButton icon="more" label={t("device.more")} />}>
              {device.kind !== "esp32" ? null : device.approval === "approved" ? (
                <MenuItem icon="lock" danger onSelect={() => setAsking("revoke")}>
                  {t("device.revoke")}
                </MenuItem>
              ) : (
                <MenuItem icon="check" onSelect={() => setAsking("approve")}>
                  {t("device.approve")}
                </MenuItem>
              )}
              <MenuItem icon="trash" danger onSelect={() => setAsking("delete")}>
                {t("device.delete")}
              </MenuItem>
            </Menu>
          )}
        </div>
      )}
      {asking === "edit" && <EditDialog device={device} onClose={done} />}
      <ApproveDialog device={device} open={asking === "approve"} onClose={done} />
      <RevokeDialog device={device} open={asking === "revoke"} onClose={done} />
      <DeleteDialog device={device} open={asking === "delete"} onClose={done} />
    </header>
  );
}

/** Board, firmware, transport and id. The panel of a device that is not a board says more about it. */
function Facts({ device }: { readonly device: DeviceDetail }) {
  const { t } = useI18n();
  const kind = kindOf(device);
  const facts: readonly (readonly [string, string | null])[] = [
    ...(kind === undefined
      ? ([
          [t("device.board"), device.board],
          [t("device.firmware"), device.firmware],
          [t("device.transport"), device.transport],
        ] as const)
      : ([[t("device.kind"), t(kind.name)]] as const)),
    [t("device.id"), device.id === device.alias ? null : device.id],
  ];
  return (
    <dl className="mt-4 flex flex-wrap gap-x-6 gap-y-2">
      {facts.map(
        ([name, value]) =>
          value !== null && (
            <div key={name} className="min-w-0">
              <dt className="text-xs text-soft">{name}</dt>
              <dd className="break-all">{value}</dd>
            </div>
          ),
      )}
    </dl>
  );
}

/** The state as text, with its start or the reason of the disconnection. */
function Presence({ device, label }: { readonly device: DeviceDetail; readonly label: string }) {
  const { t } = useI18n();
  if (device.online && device.connectedAt !== null) {
    return (
      <span>
        {label}, {t("device.since")} <Clock at={device.connectedAt} />
      </span>
    );
  }
  const left = device.lastDisconnect;
  return (
    <span>
      {label}
      {left !== null && (
        <>
          {" "}
          (<Ago at={left.at} />: {left.reason})
        </>
      )}
    </span>
  );
}
