import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { DeviceChange, DeviceDetail } from "@tendon/protocol";
import { useState } from "react";
import { api, inPath } from "../../api/client.ts";
import { keys } from "../../api/queries.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { RequestForm } from "../../ui/request-form.tsx";
import { wordsOf } from "../../ui/tag-field.tsx";

export function EditDialog({
  device,
  onClose,
}: {
  readonly device: DeviceDetail;
  readonly onClose: () => void;
}) {
  const { t } = useI18n();
  const client = useQueryClient();
  const [alias, setAlias] = useState(device.alias);
  const [tags, setTags] = useState(device.tags.join(" "));
  const save = useMutation({
    mutationFn: (change: DeviceChange) =>
      api<DeviceDetail>(`/devices/${inPath(device.id)}`, { method: "PATCH", body: change }),
    onSuccess: async (changed) => {
      client.setQueryData(keys.device(device.id), changed);
      onClose();
      await Promise.all([
        client.invalidateQueries({ queryKey: keys.tools(device.id) }),
        client.invalidateQueries({ queryKey: keys.fleets }),
      ]);
    },
  });
  return (
    <Dialog open onClose={onClose} title={t("edit.title")} description={t("edit.lead")}>
      <RequestForm
        request={save}
        onSubmit={() => save.mutate({ ...(alias === device.alias ? {} : { alias }), tags: wordsOf(tags) })}
        action={t("action.save")}
        onCancel={onClose}
      >
        <TextField
          label={t("edit.alias")}
          hint={t("edit.aliasRule")}
          required
          maxLength={24}
          pattern="[a-z][a-z0-9\-]{0,23}"
          title={t("edit.aliasRule")}
          value={alias}
          onChange={setAlias}
        />
        <TextField label={t("edit.tags")} hint={t("edit.tagsRule")} value={tags} onChange={setTags} />
      </RequestForm>
    </Dialog>
  );
}
