"""What analysts and operators publish: drafts of it, its versions, and folders of files that are kept published."""
