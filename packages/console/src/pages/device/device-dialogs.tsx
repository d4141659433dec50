import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { DeviceDetail } from "@tendon/protocol";
import { useState } from "react";
import { useLocation } from "wouter";
import { api, inPath, query } from "../../api/client.ts";
import { keys } from "../../api/queries.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { removeCachedDevice } from "../../live/freshness.ts";
import { Confirm } from "../../ui/dialog.tsx";

interface DialogProps {
  readonly device: DeviceDetail;
  readonly open: boolean;
  readonly onClose: () => void;
}

/** Approves a board that shows a code because it was revoked or never approved. */
export function ApproveDialog(props: DialogProps) {
  return <AdmissionDialog {...props} decision="approve" />;
}

export function RevokeDialog(props: DialogProps) {
  return <AdmissionDialog {...props} decision="revoke" />;
}

function AdmissionDialog({
  device,
  open,
  onClose,
  decision,
}: DialogProps & { readonly decision: "approve" | "revoke" }) {
  const { t } = useI18n();
  const client = useQueryClient();
  const decide = useMutation({
    mutationFn: () => api(`/devices/${inPath(device.id)}/${decision}`, { method: "POST" }),
    onSuccess: async () => {
      onClose();
      await client.invalidateQueries({ queryKey: keys.device(device.id) });
    },
  });
  return (
    <Confirm
      open={open}
      onClose={onClose}
      onConfirm={() => decide.mutate()}
      request={decide}
      title={t(`${decision}.title`, { device: device.alias })}
      effect={t(`${decision}.effect`)}
      action={t(`device.${decision}`)}
    />
  );
}

export function DeleteDialog({ device, open, onClose }: DialogProps) {
  const { t } = useI18n();
  const client = useQueryClient();
  const [, navigate] = useLocation();
  const [withHistory, setWithHistory] = useState(false);
  const remove = useMutation({
    mutationKey: keys.deletion(device.id),
    mutationFn: () =>
      api(`/devices/${inPath(device.id)}${query({ history: withHistory || undefined })}`, {
        method: "DELETE",
      }),
    onSuccess: async () => {
      onClose();
      navigate("/");
      await removeCachedDevice(client, device.id);
    },
  });
  return (
    <Confirm
      open={open}
      onClose={onClose}
      onConfirm={() => remove.mutate()}
      request={remove}
      title={t("delete.title", { device: device.alias })}
      effect={t(withHistory ? "delete.effectHistory" : "delete.effect")}
      action={t("device.delete")}
    >
      <label className="flex items-start gap-2.5">
        <input
          type="checkbox"
          checked={withHistory}
          onChange={({ target }) => setWithHistory(target.checked)}
          className="mt-0.5 size-4 shrink-0 accent-accent"
        />
        <span>{t("delete.history")}</span>
      </label>
      {device.kind === "endpoint" && <p className="text-sm text-soft">{t("delete.provider")}</p>}
    </Confirm>
  );
}
