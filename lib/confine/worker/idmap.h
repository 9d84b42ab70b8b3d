#ifndef MUR_IDMAP_H
#define MUR_IDMAP_H

// Opens a user namespace in which 0 stands for uid and gid; negative: -errno.
int mur_idmap(unsigned uid, unsigned gid);

#endif
