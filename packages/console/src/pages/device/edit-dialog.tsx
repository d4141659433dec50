import { useMutation, useQueryClient } from "@tanstack/react-query";
import type { DeviceChange, DeviceDetail } from "@tendon/protocol";
import { useState } from "react";
import { api, inPath } from "../../api/client.ts";
import { keys } from "../../api/queries.ts";
import { useI18n } from "../../i18n/i18n.tsx";
import { Button } from "../../ui/button.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextInput } from "../../ui/field.tsx";
import { ProblemNote } from "../../ui/problem.tsx";

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
      <form
        className="flex flex-col gap-4 overflow-y-auto p-5"
        onSubmit={(event) => {
          event.preventDefault();
          const wanted = tags.split(/[\s,]+/).filter((tag) => tag !== "");
          save.mutate({ ...(alias === device.alias ? {} : { alias }), tags: wanted });
        }}
      >
        <div className="flex flex-col gap-1">
          <label htmlFor="edit-alias" className="text-sm font-medium">
            {t("edit.alias")}
          </label>
          <TextInput
            id="edit-alias"
            aria-describedby="edit-alias-rule"
            value={alias}
            required
            maxLength={24}
            pattern="[a-z][a-z0-9\-]{0,23}"
            title={t("edit.aliasRule")}
            onChange={({ target }) => setAlias(target.value)}
          />
          <p id="edit-alias-rule" className="text-xs text-soft">
            {t("edit.aliasRule")}
          </p>
        </div>
        <div className="flex flex-col gap-1">
          <label htmlFor="edit-tags" className="text-sm font-medium">
            {t("edit.tags")}
          </label>
          <TextInput
            id="edit-tags"
            aria-describedby="edit-tags-rule"
            value={tags}
            onChange={({ target }) => setTags(target.value)}
          />
          <p id="edit-tags-rule" className="text-xs text-soft">
            {t("edit.tagsRule")}
          </p>
        </div>
        {save.isError && <ProblemNote error={save.error} />}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>{t("action.cancel")}</Button>
          <Button type="submit" look="primary" disabled={save.isPending}>
            {t("action.save")}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
